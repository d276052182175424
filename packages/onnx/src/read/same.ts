import type { Op } from "@mp/core/graph";
import type { ReadNode } from "./node/node-reader.js";

/** The op of the same name on the same operands, if it has no attributes. */
export function same(op: Op, operands: number): ReadNode {
  return (reader) => [
    reader.emitOne<Op>(
      op,
      Array.from({ length: operands }, (_, index) => reader.operand(index)),
      {},
    ),
  ];
}
