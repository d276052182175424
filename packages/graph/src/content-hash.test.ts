import { describe, expect, it } from "vitest";
import { contentHash } from "./content-hash.js";

describe("contentHash", () => {
  const data = Float32Array.from({ length: 1000 }, (_, index) => Math.sin(index));

  it("differs for any one element, for two flipped signs, for two exchanged elements and for one zero more", () => {
    const changed = (change: (copy: Float32Array) => void): Float32Array => {
      const copy = data.slice();
      change(copy);
      return copy;
    };
    const others = [
      ...Array.from(data.keys(), (at) => changed((copy) => copy.set([7], at))),
      changed((copy) => {
        copy[3] = -(data[3] ?? 0);
        copy[800] = -(data[800] ?? 0);
      }),
      changed((copy) => {
        copy[3] = data[4] ?? 0;
        copy[4] = data[3] ?? 0;
      }),
      Float32Array.of(...data, 0),
      data.subarray(1),
    ];
    const hashes = [data, ...others].map(contentHash);
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it("is of the bytes, wherever they stand in their buffer", () => {
    const bytes = Uint8Array.from({ length: 23 }, (_, index) => index * 11);
    const shifted = new Uint8Array(40);
    for (const offset of [0, 1, 4, 7]) {
      shifted.set(bytes, offset);
      expect(contentHash(shifted.subarray(offset, offset + 23))).toBe(contentHash(bytes));
    }
    expect(contentHash(bytes.subarray(0, 22))).not.toBe(contentHash(bytes));
    expect(contentHash(bytes)).toMatch(/^[0-9a-f]{16}$/);
    expect(contentHash(new Uint8Array(0))).toMatch(/^[0-9a-f]{16}$/);
  });
});
