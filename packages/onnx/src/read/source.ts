import { type HostTensor, type OpOf, tensor } from "@mp/graph";
import type { NodeReader, ReaderTable } from "./node/node-reader.js";

/** Readers of the attributes that can hold the value of a Constant; other attributes are refused. */
const constants: readonly (readonly [
  attribute: string,
  read: (reader: NodeReader) => HostTensor | undefined,
])[] = [
  ["value", (reader) => reader.tensor("value")],
  ["value_float", (reader) => tensor(Float32Array.of(reader.float("value_float")), [])],
  ["value_floats", (reader) => tensor(Float32Array.from(reader.floats("value_floats") ?? []))],
  ["value_int", (reader) => tensor(BigInt64Array.of(reader.bigint("value_int")), [])],
  ["value_ints", (reader) => tensor(BigInt64Array.from(reader.bigints("value_ints") ?? []))],
];

function readConstant(reader: NodeReader): HostTensor {
  for (const [attribute, read] of constants) {
    const value = reader.hasAttribute(attribute) ? read(reader) : undefined;
    if (value !== undefined) return value;
  }
  if (reader.hasAttribute("value_string") || reader.hasAttribute("value_strings"))
    return reader.unsupported("holds strings, leave the part of the model that reads them out of the export");
  return reader.unsupported(`has none of ${constants.map(([attribute]) => attribute).join(", ")}`);
}

export const sourceReaders: ReaderTable<OpOf<"source">> = {
  Constant: (reader) => [{ constant: readConstant(reader) }],
  Range: (reader) => {
    const [start, limit, delta] = ["start", "limit", "delta"].map((what, index) =>
      reader.number(index, what),
    );
    const dtype = reader.constant(0)?.dtype;
    if (start === undefined || limit === undefined || delta === undefined || dtype === undefined) {
      return reader.unsupported("lacks a bound");
    }
    return [reader.emitOne("Range", [], { start, limit, delta, dtype })];
  },
  RandomBits: (reader) => {
    const shape = reader.ints("shape") ?? [];
    const key = BigInt.asUintN(64, reader.bigint("key"));
    return [reader.emitOne("RandomBits", [reader.operand(0)], { key, shape })];
  },
  Barrier: (reader) => [reader.emitOne("Barrier", reader.operands(), {})],
};
