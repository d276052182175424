import util from "node:util";

/**
 * Functions of `node:util` that tfjs-node 4.22 calls. Node 23 removed the first and has deprecated the
 * second. Fixed in tfjs in 2025, but not yet released: https://github.com/tensorflow/tfjs/issues/8609
 */
const CALLED_BY_TFJS_NODE: Readonly<Record<string, (value: unknown) => boolean>> = {
  isNullOrUndefined: (value) => value === null || value === undefined,
  isArray: (value) => Array.isArray(value),
};

/**
 * Puts back the functions of `node:util` that tfjs-node needs and this version of Node lacks. Call it before
 * the first operation of `@tensorflow/tfjs-node` on Node 23 or later; `loadTfjsNode` does so. Existing
 * functions stay.
 * @returns the names that were put back
 * @example
 * ```ts
 * restoreNodeUtil();
 * const tf = await import("@tensorflow/tfjs-node");
 * ```
 */
export function restoreNodeUtil(): readonly string[] {
  // The object that `require("util")` returns, which is what tfjs-node reads; the bindings of an import are frozen.
  const target = util as unknown as Record<string, unknown>;
  const missing = Object.entries(CALLED_BY_TFJS_NODE).filter(([name]) => target[name] === undefined);
  for (const [name, value] of missing) {
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  }
  return missing.map(([name]) => name);
}
