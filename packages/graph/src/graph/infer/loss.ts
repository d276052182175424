import { formatShape } from "../../shape.js";
import { shown } from "../../shown.js";
import type { LossReduction } from "../attributes.js";
import type { OpOf } from "../families.js";
import type { ValueType } from "../graph.js";
import { opDTypes } from "../op-dtypes.js";
import {
  argumentError,
  expectDType,
  expectSameDType,
  expectShape,
  type InferTable,
  operands,
  shapeError,
} from "./rule.js";

const REDUCTIONS: readonly LossReduction[] = ["mean", "sum", "none"];

function likelihood(op: OpOf<"loss">) {
  return (
    inputs: readonly ValueType[],
    { reduction }: { readonly reduction: LossReduction },
  ): { readonly scores: ValueType; readonly loss: ValueType } => {
    const [scores, labels] = operands(op, inputs, 2, 3);
    const weights = inputs[2];
    expectDType(op, scores, opDTypes[op], "scores");
    expectDType(op, labels, ["i32"], "labels");
    const [batch, classes, ...rest] = scores.shape;
    if (batch === undefined || classes === undefined) {
      throw shapeError(op, `scores must be [batch, classes, …], got ${formatShape(scores.shape)}`);
    }
    expectShape(op, labels.shape, [batch, ...rest], "labels");
    if (!REDUCTIONS.includes(reduction)) {
      throw argumentError(op, `reduction must be one of ${REDUCTIONS.join(", ")}, got ${shown(reduction)}`);
    }
    if (weights !== undefined) {
      expectSameDType(op, [scores, weights]);
      expectShape(op, weights.shape, [classes], "weights");
    }
    return { scores, loss: { dtype: scores.dtype, shape: reduction === "none" ? labels.shape : [] } };
  };
}

export const lossInfer: InferTable<OpOf<"loss">> = {
  SoftmaxCrossEntropyLoss: (inputs, attributes) => {
    const { scores, loss } = likelihood("SoftmaxCrossEntropyLoss")(inputs, attributes);
    return [loss, scores];
  },
  NegativeLogLikelihoodLoss: (inputs, attributes) => [
    likelihood("NegativeLogLikelihoodLoss")(inputs, attributes).loss,
  ],
};
