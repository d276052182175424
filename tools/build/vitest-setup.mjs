/** Speeds up the slowest work in tests: comparing arrays key by key. */
import { expect } from "vitest";

/** @param {unknown} value */
const bytesOf = (value) =>
  ArrayBuffer.isView(value) && !(value instanceof DataView)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : undefined;

/** Arrays of one type with the same bytes are equal. Other arrays are compared element by element. */
expect.addEqualityTesters([
  (a, b) => {
    const [one, other] = [bytesOf(a), bytesOf(b)];
    if (one === undefined || other === undefined || one.length !== other.length) return undefined;
    const isSame = Object.getPrototypeOf(a) === Object.getPrototypeOf(b) && Buffer.compare(one, other) === 0;
    return isSame ? true : undefined;
  },
]);
