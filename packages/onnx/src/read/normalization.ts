import type { OpOf, SoftmaxOp } from "@mp/graph";
import type { NodeReader, ReaderTable, ReadNode } from "./node/node-reader.js";

const softmax =
  (op: SoftmaxOp): ReadNode =>
  (reader) => {
    const x = reader.operand(0);
    return [reader.emitOne(op, [x], { axis: reader.axis(x.shape.length, -1) })];
  };

/** @throws MP_UNSUPPORTED for a normalization that computes its statistics in another dtype than f32 */
export function expectF32Statistics(reader: NodeReader): void {
  if (reader.int("stash_type", 1) !== 1)
    reader.unsupported("computes its statistics in another type than f32");
}

const normalization =
  (op: "LayerNormalization" | "RMSNormalization", hasBias: boolean): ReadNode =>
  (reader) => {
    const x = reader.operand(0);
    expectF32Statistics(reader);
    const axis = reader.axis(x.shape.length, -1);
    // Reads the bias before the scale, because parameters are inputs in the order in which they are read.
    const bias = hasBias ? reader.optional(2) : undefined;
    const operands = [x, reader.operand(1), ...(bias === undefined ? [] : [bias])];
    return reader.emit(op, operands, { axis, epsilon: reader.float("epsilon", 1e-5) });
  };

export const normalizationReaders: ReaderTable<OpOf<"normalization">> = {
  Softmax: softmax("Softmax"),
  LogSoftmax: softmax("LogSoftmax"),
  LayerNormalization: normalization("LayerNormalization", true),
  RMSNormalization: normalization("RMSNormalization", false),
};
