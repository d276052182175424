import type { OpOf, SoftmaxOp, Value } from "@mp/core/graph";
import { axisOf } from "./node/axis.js";
import type { NodeReader, ReaderTable, ReadNode } from "./node/node-reader.js";

function alongAxis(op: SoftmaxOp): ReadNode {
  return (reader) => {
    const x = reader.operand(0);
    return [reader.emitOne(op, [x], { axis: axisOf(reader, reader.int("axis", -1), x.shape.length) })];
  };
}

function normalized(reader: NodeReader): {
  readonly x: Value;
  readonly attributes: { axis: number; epsilon: number };
} {
  const x = reader.operand(0);
  if (reader.int("stash_type", 1) !== 1)
    return reader.unsupported("computes its statistics in another type than f32");
  const axis = axisOf(reader, reader.int("axis", -1), x.shape.length);
  return { x, attributes: { axis, epsilon: reader.float("epsilon", 1e-5) } };
}

export const normalizationReaders: ReaderTable<OpOf<"normalization">> = {
  Softmax: alongAxis("Softmax"),
  LogSoftmax: alongAxis("LogSoftmax"),
  LayerNormalization: (reader) => {
    const { x, attributes } = normalized(reader);
    const bias = reader.optional(2);
    const operands = [x, reader.operand(1), ...(bias === undefined ? [] : [bias])];
    return reader.emit("LayerNormalization", operands, attributes);
  },
  RMSNormalization: (reader) => {
    const { x, attributes } = normalized(reader);
    return reader.emit("RMSNormalization", [x, reader.operand(1)], attributes);
  },
};
