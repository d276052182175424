import type { DType } from "@mp/core";
import type { OpOf, Value } from "@mp/core/graph";
import type { NodeReader, ReaderTable, ReadNode } from "./node/node-reader.js";

const inDType = (reader: NodeReader, value: Value, dtype: DType): Value =>
  value.dtype === dtype ? value : reader.emitOne("Cast", [value], { to: dtype });

const wide = (reader: NodeReader, value: Value): Value => inDType(reader, value, "f32");

function two(reader: NodeReader, op: "Add" | "Sub" | "Mul", a: Value, b: Value): Value {
  return reader.emitOne(op, [a, b], {});
}

/** An f32 scalar. */
function number(reader: NodeReader, value: number): Value {
  const data = Float32Array.of(value);
  return reader.emitOne("Constant", [], { value: { dtype: "f32", shape: [], data }, literal: value });
}

/** By given statistics: arithmetic in f32, as in core's `normalizeByStatistics`. */
function byStatistics(reader: NodeReader, epsilon: number): Value {
  const x = reader.operand(0);
  const each = (index: number): Value => {
    const part = wide(reader, reader.operand(index));
    const shape = [part.shape[0] ?? 1, ...x.shape.slice(2).map(() => 1)];
    return shape.length === 1 ? part : reader.emitOne("Reshape", [part], { shape });
  };
  const [scale, bias, mean, variance] = [each(1), each(2), each(3), each(4)];
  const deviation = reader.emitOne("Sqrt", [two(reader, "Add", variance, number(reader, epsilon))], {});
  const factor = two(reader, "Mul", scale, reader.emitOne("Reciprocal", [deviation], {}));
  const scaled = two(reader, "Mul", two(reader, "Sub", wide(reader, x), mean), factor);
  return inDType(reader, two(reader, "Add", scaled, bias), x.dtype);
}

/** The running statistics: given · momentum + those of the batch · (1 - momentum). */
function running(reader: NodeReader, index: number, statistic: Value, momentum: number): Value {
  if (momentum === 0) {
    reader.typeOf(index);
    return statistic;
  }
  const given = reader.operand(index);
  const old = two(reader, "Mul", wide(reader, given), number(reader, momentum));
  const now = two(reader, "Mul", statistic, number(reader, 1 - momentum));
  return inDType(reader, two(reader, "Add", old, now), given.dtype);
}

const batchNormalization: ReadNode = (reader) => {
  const epsilon = reader.float("epsilon", 1e-5);
  if (reader.int("spatial", 1) !== 1) return reader.unsupported("has statistics for each element");
  const momentum = reader.float("momentum", 0.9);
  const isTraining = reader.int("training_mode", 0) === 1;
  if (!isTraining) {
    if (reader.node.outputs.length > 1) return reader.unsupported("trains as it did before version 14");
    return [byStatistics(reader, epsilon)];
  }
  const [y, mean, variance] = reader.emit(
    "BatchNormalization",
    [reader.operand(0), reader.operand(1), reader.operand(2)],
    { epsilon },
  ) as readonly [Value, Value, Value];
  return [y, running(reader, 3, mean, momentum), running(reader, 4, variance, momentum)];
};

export const batchNormalizationReaders: ReaderTable<OpOf<"batch-normalization">> = {
  BatchNormalization: batchNormalization,
  BatchNormalizationGradient: (reader) =>
    reader.emit(
      "BatchNormalizationGradient",
      [0, 1, 2, 3, 4].map((index) => reader.operand(index)),
      { epsilon: reader.float("epsilon", 1e-5) },
    ),
};
