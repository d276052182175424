/** Speeds up the slowest work in tests: mapping stacks frame by frame, and comparing arrays key by key. */
import { expect } from "vitest";

/** @typedef {(error: Error, frames: readonly NodeJS.CallSite[]) => string} Prepare */

/**
 * Maps each distinct stack frame once from the built code to the source. Every operator of a trace looks for the line
 * that called it, and Vite's runner would map all sixty frames of each such stack.
 */
const mapped = Symbol.for("mp.mapped-frames");
const slow = /** @type {Prepare & { [mapped]?: true }} */ (Error.prepareStackTrace);
if (slow !== undefined && slow[mapped] !== true) {
  /** @type {Map<string, Map<number, string>>} */
  const scripts = new Map();
  /** @param {NodeJS.CallSite} frame */
  const lineOf = (frame) => {
    const script = frame.getScriptNameOrSourceURL();
    if (!script) return `\n    at ${frame}`;
    let lines = scripts.get(script);
    if (lines === undefined) {
      lines = new Map();
      scripts.set(script, lines);
    }
    const place = frame.getPosition();
    let line = lines.get(place);
    if (line === undefined) {
      const text = slow(new Error(""), [frame]);
      line = text.slice(text.indexOf("\n"));
      lines.set(place, line);
    }
    return line;
  };
  /** @type {Prepare} */
  const fast = (error, frames) => {
    let text = `${error.name || "Error"}: ${error.message || ""}`;
    for (const frame of frames) text += lineOf(frame);
    return text;
  };
  Error.prepareStackTrace = /** @type {never} */ (Object.assign(fast, { [mapped]: true }));
}

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
