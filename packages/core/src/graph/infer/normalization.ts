import { broadcastShapes, formatShape, normalizeAxis, type Shape, sameShape } from "../../shape.js";
import { shown } from "../../shown.js";
import type { LossReduction, Op } from "../attributes.js";
import type { ValueType } from "../graph.js";
import {
  argumentError,
  expectCount,
  expectDType,
  expectSameDType,
  expectShape,
  FLOATS,
  type InferTable,
  operand,
  shapeError,
} from "./rule.js";

const REDUCTIONS: readonly LossReduction[] = ["mean", "sum", "none"];

function alongAxis(op: "Softmax" | "LogSoftmax") {
  return (inputs: readonly ValueType[], { axis }: { readonly axis: number }): readonly ValueType[] => {
    expectCount(op, inputs, 1);
    const x = operand(op, inputs, 0);
    expectDType(op, x, FLOATS);
    normalizeAxis(axis, x.shape.length, op);
    return [x];
  };
}

function likelihood(op: "SoftmaxCrossEntropyLoss" | "NegativeLogLikelihoodLoss") {
  return (
    inputs: readonly ValueType[],
    { reduction }: { readonly reduction: LossReduction },
  ): { readonly scores: ValueType; readonly loss: ValueType } => {
    expectCount(op, inputs, 2, 3);
    const scores = operand(op, inputs, 0);
    const labels = operand(op, inputs, 1);
    const weights = inputs[2];
    expectDType(op, scores, FLOATS, "scores");
    expectDType(op, labels, ["i32"], "labels");
    const [batch, classes, ...rest] = scores.shape;
    if (batch === undefined || classes === undefined) {
      throw shapeError(op, `scores are [batch, classes, …], got ${formatShape(scores.shape)}`);
    }
    expectShape(op, labels.shape, [batch, ...rest], "labels");
    if (!REDUCTIONS.includes(reduction)) {
      throw argumentError(op, `reduction is one of ${REDUCTIONS.join(", ")}, got ${shown(reduction)}`);
    }
    if (weights !== undefined) {
      expectSameDType(op, [scores, weights]);
      expectShape(op, weights.shape, [classes], "weights");
    }
    return { scores, loss: { dtype: scores.dtype, shape: reduction === "none" ? labels.shape : [] } };
  };
}

function expectNormalized(op: Op, part: ValueType, x: ValueType, axis: number, what: string): void {
  const normalized: Shape = x.shape.slice(axis);
  if (!sameShape(broadcastShapes(normalized, part.shape, op), normalized)) {
    throw shapeError(
      op,
      `${what} of ${formatShape(part.shape)} does not broadcast to ${formatShape(normalized)}`,
    );
  }
}

export const normalizationInfer: InferTable<
  | "Softmax"
  | "LogSoftmax"
  | "SoftmaxCrossEntropyLoss"
  | "NegativeLogLikelihoodLoss"
  | "LayerNormalization"
  | "RMSNormalization"
> = {
  Softmax: alongAxis("Softmax"),
  LogSoftmax: alongAxis("LogSoftmax"),
  SoftmaxCrossEntropyLoss: (inputs, attributes) => {
    const { scores, loss } = likelihood("SoftmaxCrossEntropyLoss")(inputs, attributes);
    return [loss, scores];
  },
  NegativeLogLikelihoodLoss: (inputs, attributes) => [
    likelihood("NegativeLogLikelihoodLoss")(inputs, attributes).loss,
  ],
  LayerNormalization: (inputs, { axis, epsilon }) => {
    expectCount("LayerNormalization", inputs, 2, 3);
    const x = operand("LayerNormalization", inputs, 0);
    expectDType("LayerNormalization", x, FLOATS);
    expectSameDType("LayerNormalization", inputs);
    normalizeAxis(axis, x.shape.length, "LayerNormalization");
    if (!(epsilon > 0))
      throw argumentError("LayerNormalization", `epsilon is ${epsilon}, needs to be above 0`);
    expectNormalized("LayerNormalization", operand("LayerNormalization", inputs, 1), x, axis, "scale");
    if (inputs[2] !== undefined) expectNormalized("LayerNormalization", inputs[2], x, axis, "bias");
    const statistics: ValueType = {
      dtype: "f32",
      shape: x.shape.map((dimension, index) => (index < axis ? dimension : 1)),
    };
    return [x, statistics, statistics];
  },
  RMSNormalization: (inputs, { axis, epsilon }) => {
    expectCount("RMSNormalization", inputs, 2);
    const x = operand("RMSNormalization", inputs, 0);
    expectDType("RMSNormalization", x, FLOATS);
    expectSameDType("RMSNormalization", inputs);
    normalizeAxis(axis, x.shape.length, "RMSNormalization");
    if (!(epsilon > 0)) throw argumentError("RMSNormalization", `epsilon is ${epsilon}, needs to be above 0`);
    expectNormalized("RMSNormalization", operand("RMSNormalization", inputs, 1), x, axis, "scale");
    return [x];
  },
};
