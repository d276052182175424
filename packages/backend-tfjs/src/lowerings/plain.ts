import { isFloat, type Op } from "@mp/core/graph";
import type { Lowering } from "../graph/tf-writer.js";
import { emitT, typeAt } from "./lowering.js";

/** The TensorFlow op of that name, or one for floats and another for integers, on the same operands. */
export function plain<K extends Op>(op: string, ofIntegers: string = op): Lowering<K> {
  return (node, operands, writer) => {
    const { dtype } = typeAt(node, 0);
    return [emitT(isFloat(dtype) ? op : ofIntegers, operands, dtype, writer)];
  };
}
