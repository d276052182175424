import { hostArrayOf, isFloat } from "../dtype.js";
import { encode } from "../float-format/bits.js";
import { type HostTensor, tensor } from "../host/host-tensor.js";
import { elementCount } from "../shape.js";
import type { GraphNode } from "./graph.js";

/**
 * The values of a Range as the reference backend computes them, without the backend's kernels: start + i · delta in
 * doubles, rounded once, and truncated in integer dtypes.
 */
export function rangeValues({ attributes, outputs }: GraphNode<"Range">): HostTensor {
  const { start, delta, dtype } = attributes;
  const [output] = outputs;
  if (output === undefined) throw new Error("internal: a Range without output");
  const data = new hostArrayOf[dtype](elementCount(output.shape, "Range"));
  for (let index = 0; index < data.length; index++) {
    const value = start + index * delta;
    if (data instanceof BigInt64Array || data instanceof BigUint64Array)
      data[index] = BigInt(Math.trunc(value));
    else if (isFloat(dtype)) data[index] = dtype === "f32" ? value : encode(dtype, value);
    else data[index] = Math.trunc(value);
  }
  return tensor(data as never, output.shape, dtype) as HostTensor;
}

/**
 * The values of a Range on which engines may disagree, since engines sum the steps in different ways.
 * @returns undefined for integers below 2^24 in f32 or 2^31 in i32 and i64, which every engine counts exactly
 */
export const uncountableRange = (node: GraphNode<"Range">): HostTensor | undefined =>
  isCountedExactly(node.attributes) ? undefined : rangeValues(node);

function isCountedExactly({ start, limit, delta, dtype }: GraphNode<"Range">["attributes"]): boolean {
  if (dtype !== "f32" && dtype !== "i32" && dtype !== "i64") return false;
  const bound = dtype === "f32" ? 2 ** 24 : 2 ** 31;
  return [start, limit, delta].every((number) => Number.isInteger(number) && Math.abs(number) < bound);
}
