import { onlyNumberOf, shortest } from "../../numbers.js";
import type { NodeReader } from "./node-reader.js";

/** A number that the graph has as an attribute and the model as an operand of one element. */
export function scalarOperand(reader: NodeReader, index: number, what: string): number | undefined {
  const tensor = reader.constant(index);
  if (tensor === undefined) return undefined;
  const value = onlyNumberOf(tensor);
  if (value !== undefined) return shortest(value, tensor.dtype);
  const found = tensor.data.length === 1 ? `${tensor.data[0]}` : `a tensor of [${tensor.shape.join(", ")}]`;
  return reader.unsupported(`has ${found} for ${what}, here it is one number that f64 holds`);
}
