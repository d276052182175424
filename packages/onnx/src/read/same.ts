import type { Op, OpAttributes } from "@mp/core/graph";
import type { ReadNode } from "./node/node-reader.js";

type Unattributed = { [K in Op]: Record<never, never> extends OpAttributes[K] ? K : never }[Op];

/** The op of the same name on the same operands. */
export function same(op: Unattributed, operands: number): ReadNode {
  return (reader) => [
    reader.emitOne(
      op,
      Array.from({ length: operands }, (_, index) => reader.operand(index)),
      {},
    ),
  ];
}
