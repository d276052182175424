import { isFloat, type Op } from "@mp/graph";
import type { Lowering } from "./lowering.js";

/** Lowers to the TensorFlow op of that name, or `ofIntegers` for integers, on the same operands. */
export function plain<K extends Op>(op: string, ofIntegers: string = op): Lowering<K> {
  return (_, [x, ...others]) => [x.op(isFloat(x.dtype) ? op : ofIntegers, ...others)];
}
