import type { Op, Tensor } from "@mp/graph";
import type { NodeReader, ReadNode } from "./node-reader.js";

/** The op of the same name on the same operands, if it has no attributes. */
export const same =
  (op: Op, operands: number): ReadNode =>
  (reader) => [reader.emitOne<Op>(op, reader.operands(operands), {})];

/** A function of core's operators, applied to the first operands. */
export const composition =
  (operands: number, fn: (reader: NodeReader, ...operands: Tensor[]) => Tensor): ReadNode =>
  (reader) =>
    reader.compose(reader.operands(operands), (...tensors) => fn(reader, ...tensors));
