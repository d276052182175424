import { isFloat, type Op } from "@mp/graph";
import type { Lowering } from "./lowering.js";

/** Lowers to the TensorFlow op `op`, or to `ofIntegers` if x is not float, on the same operands. */
export function plain<K extends Op>(op: string, ofIntegers: string = op): Lowering<K> {
  return (_, [x, ...others]) => [x.op(isFloat(x.dtype) ? op : ofIntegers, ...others)];
}
