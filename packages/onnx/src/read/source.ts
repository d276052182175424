import type { HostTensor } from "@mp/core";
import { literals } from "../literals.js";
import { numbersOf, shortest } from "../numbers.js";
import type { NodeReader, ReaderTable } from "./node-reader.js";

function constantOf(reader: NodeReader): HostTensor {
  const tensor = reader.tensor("value");
  if (tensor !== undefined) return tensor;
  if (reader.hasAttribute("value_int")) {
    return { dtype: "i64", shape: [], data: BigInt64Array.of(reader.bigint("value_int")) };
  }
  if (reader.hasAttribute("value_float")) return literals([reader.float("value_float")], "f32", []);
  const integers = reader.ints("value_ints");
  if (integers !== undefined) return literals(integers, "i64");
  return reader.unsupported("holds no tensor");
}

export const sourceReaders: ReaderTable<"Constant" | "Range" | "RandomBits" | "Barrier"> = {
  Constant: (reader) => [{ constant: constantOf(reader) }],
  Range: (reader) => {
    const tensors = [0, 1, 2].map((index) => reader.constant(index));
    const [start, limit, delta] = tensors.map((tensor) =>
      tensor === undefined ? undefined : shortest(numbersOf(tensor)[0] ?? Number.NaN, tensor.dtype),
    );
    const dtype = tensors[0]?.dtype;
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
  Barrier: (reader) => {
    const operands = Array.from({ length: reader.operandCount }, (_, index) => reader.operand(index));
    return [reader.emitOne("Barrier", operands, {})];
  },
};
