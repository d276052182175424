import type { Op, Tensor } from "@mp/graph";
import type { NodeReader, ReadNode } from "./node-reader.js";

/** Reads an op without attributes as the graph op of the same name. */
export const same =
  (op: Op, operands: number): ReadNode =>
  (reader) => [reader.emitOne<Op>(op, reader.operands(operands), {})];

/** Reads an op as a composition of graph operators. @param operands how many operands `fn` takes */
export const composition =
  (operands: number, fn: (reader: NodeReader, ...operands: Tensor[]) => Tensor): ReadNode =>
  (reader) =>
    reader.compose(reader.operands(operands), (...tensors) => fn(reader, ...tensors));
