/** Names that are known to hold only +0, so that a sum need not read them. */
import type { Value } from "@mp/core/graph";
import { type TfWriter, type } from "../graph/tf-writer.js";

const known = new WeakMap<TfWriter, Set<string>>();

export function noteZero(name: string, writer: TfWriter): void {
  const names = known.get(writer) ?? new Set();
  known.set(writer, names.add(name));
}

export function isZero(name: string, writer: TfWriter): boolean {
  return known.get(writer)?.has(name) ?? false;
}

/**
 * Results of sums without terms. Not every engine kernel writes these: on the CPU a product ends the process when two
 * nodes read its result, and gradients of filters keep what was in memory before.
 */
export function zerosOf({ dtype, shape }: Pick<Value, "dtype" | "shape">, writer: TfWriter): string {
  const attributes = { T: type(dtype), index_type: type("i32") };
  const zeros = writer.one("Fill", [writer.ints(shape), writer.scalar(0, dtype)], attributes);
  noteZero(zeros, writer);
  return zeros;
}
