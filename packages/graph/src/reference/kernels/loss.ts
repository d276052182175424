import { MpError } from "../../errors.js";
import type { LossReduction } from "../../graph/attributes.js";
import type { OpOf } from "../../graph/families.js";
import type { Arithmetic } from "../elements/arithmetic.js";
import { outputType, type ReferenceKernel, type ReferenceTable } from "../elements/kernel.js";
import { type FloatStore, type Operand, operand, readFloats, readIndices } from "../elements/store.js";
import { type AxisView, viewOfAxis } from "../elements/strided.js";
import { logSoftmax } from "./softmax.js";

interface LossAttributes {
  readonly reduction: LossReduction;
  readonly ignoreIndex?: number;
}

/**
 * -weight · log-probability at each label. `mean` divides by the sum of the weights of labels that are not ignored,
 * so it is NaN when every label is ignored. Sums are in f32 over labels in order.
 */
function computeLoss(
  op: OpOf<"loss">,
  logs: FloatStore,
  { outer, size, inner }: AxisView,
  inputs: readonly Operand[],
  { reduction, ignoreIndex }: LossAttributes,
  arithmetic: Arithmetic,
): FloatStore {
  const labels = readIndices(operand(inputs, 1));
  const weights = inputs[2] === undefined ? undefined : readFloats(inputs[2]);
  const losses = arithmetic.floats(labels.length);
  const totals = arithmetic.floats(2);
  for (let at = 0; at < outer * inner; at++) {
    const label = labels[at] as number;
    if (label === ignoreIndex) continue;
    if (label < 0 || label >= size) {
      throw new MpError("MP_OUT_OF_RANGE", `${op}: label ${label} at ${at} is outside 0 … ${size - 1}`, {
        details: { index: label, axis: 1 },
      });
    }
    const weight = weights === undefined ? 1 : (weights[label] as number);
    const block = Math.floor(at / inner);
    losses[at] = -(logs[(block * size + label) * inner + (at % inner)] as number) * weight;
    totals[0] = (totals[0] as number) + (losses[at] as number);
    totals[1] = (totals[1] as number) + weight;
  }
  if (reduction === "none") return losses;
  const loss = arithmetic.floats(1);
  loss[0] = reduction === "sum" ? (totals[0] as number) : (totals[0] as number) / (totals[1] as number);
  return loss;
}

/** Computes the loss from the log-probabilities before they are rounded to the scores' dtype. */
const crossEntropyKernel: ReferenceKernel<"SoftmaxCrossEntropyLoss"> = (
  inputs,
  attributes,
  outputs,
  arithmetic,
) => {
  const scores = operand(inputs, 0);
  const view = viewOfAxis(scores.shape, 1);
  const logs = logSoftmax(readFloats(scores), view, arithmetic);
  const loss = computeLoss("SoftmaxCrossEntropyLoss", logs, view, inputs, attributes, arithmetic);
  return [
    arithmetic.round(outputType(outputs).dtype, loss),
    arithmetic.round(outputType(outputs, 1).dtype, logs),
  ];
};

const likelihoodKernel: ReferenceKernel<"NegativeLogLikelihoodLoss"> = (
  inputs,
  attributes,
  outputs,
  arithmetic,
) => {
  const scores = operand(inputs, 0);
  const view = viewOfAxis(scores.shape, 1);
  const logs = readFloats(scores);
  const loss = computeLoss("NegativeLogLikelihoodLoss", logs, view, inputs, attributes, arithmetic);
  return [arithmetic.round(outputType(outputs).dtype, loss)];
};

export const lossKernels: ReferenceTable<OpOf<"loss">> = {
  SoftmaxCrossEntropyLoss: crossEntropyKernel,
  NegativeLogLikelihoodLoss: likelihoodKernel,
};
