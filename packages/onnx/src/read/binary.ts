import { FAMILIES, type OpOf, rowsOf, type Value } from "@mp/graph";
import { power } from "./compositions/power.js";
import { remainder } from "./compositions/remainder.js";
import { same } from "./node/composition.js";
import type { NodeReader, ReaderTable } from "./node/node-reader.js";

/** Joins the operands from left to right by a binary op, because ONNX allows any number of operands, and graphs two. */
export function foldOperands(reader: NodeReader, op: "Min" | "Max" | "Add"): Value {
  let value = reader.operand(0);
  if (reader.operandCount === 1) return reader.emitOne("Identity", [value], {});
  for (let index = 1; index < reader.operandCount; index++)
    value = reader.emitOne(op, [value, reader.operand(index)], {});
  return value;
}

export const binaryReaders: ReaderTable<OpOf<"binary">> = {
  ...rowsOf(FAMILIES.binary, (op) => same(op, 2)),
  Pow: power,
  Min: (reader) => [foldOperands(reader, "Min")],
  Max: (reader) => [foldOperands(reader, "Max")],
  Where: same("Where", 3),
  Mod: remainder,
};
