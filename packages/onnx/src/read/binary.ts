import { FAMILIES, type OpOf, rowsOf } from "@mp/core/graph";
import { power } from "./compositions/power.js";
import { remainder } from "./compositions/remainder.js";
import type { NodeReader, ReaderTable, ReadNode } from "./node/node-reader.js";
import { same } from "./same.js";

/** ONNX takes any number of operands, the graph two. */
function folded(op: "Min" | "Max" | "Add"): ReadNode {
  return (reader) => [foldOperands(reader, op)];
}

/** All operands joined by a binary op, from the left. */
export function foldOperands(
  reader: NodeReader,
  op: "Min" | "Max" | "Add",
): ReturnType<NodeReader["operand"]> {
  let value = reader.operand(0);
  if (reader.operandCount === 1) return reader.emitOne("Identity", [value], {});
  for (let index = 1; index < reader.operandCount; index++) {
    value = reader.emitOne(op, [value, reader.operand(index)], {});
  }
  return value;
}

export const binaryReaders: ReaderTable<OpOf<"binary">> = {
  ...rowsOf(FAMILIES.binary, (op) => same(op, 2)),
  Pow: power,
  Min: folded("Min"),
  Max: folded("Max"),
  Where: same("Where", 3),
  Mod: remainder,
};
