import type { LossReduction, Value } from "@mp/core/graph";
import { quote } from "../problem.js";
import type { NodeReader, ReaderTable, ReadNode } from "./node-reader.js";
import { axisOf } from "./reduce.js";

function alongAxis(op: "Softmax" | "LogSoftmax"): ReadNode {
  return (reader) => {
    const x = reader.operand(0);
    return [reader.emitOne(op, [x], { axis: axisOf(reader, reader.int("axis", -1), x.shape.length) })];
  };
}

const REDUCTIONS: readonly LossReduction[] = ["mean", "sum", "none"];

function likelihood(op: "SoftmaxCrossEntropyLoss" | "NegativeLogLikelihoodLoss"): ReadNode {
  return (reader) => {
    const name = reader.string("reduction", "mean");
    const reduction = REDUCTIONS.find((known) => known === name);
    if (reduction === undefined) return reader.unsupported(`reduces by ${quote(name)}`);
    const weights = reader.optional(2);
    return reader.emit(
      op,
      [reader.operand(0), reader.indices(1), ...(weights === undefined ? [] : [weights])],
      {
        reduction,
        ...(reader.hasAttribute("ignore_index") ? { ignoreIndex: reader.int("ignore_index") } : {}),
      },
    );
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

export const normalizationReaders: ReaderTable<
  | "Softmax"
  | "LogSoftmax"
  | "SoftmaxCrossEntropyLoss"
  | "NegativeLogLikelihoodLoss"
  | "LayerNormalization"
  | "RMSNormalization"
> = {
  Softmax: alongAxis("Softmax"),
  LogSoftmax: alongAxis("LogSoftmax"),
  SoftmaxCrossEntropyLoss: likelihood("SoftmaxCrossEntropyLoss"),
  NegativeLogLikelihoodLoss: likelihood("NegativeLogLikelihoodLoss"),
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
