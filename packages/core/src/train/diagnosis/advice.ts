/** The texts of a diagnosis: causes, their explanations, and advice. */
import type { Attribution } from "./attribution.js";
import { formatRemedies, type Remedy } from "./remedies.js";

/** Causes, and the sentences that explain them. */
export const explanations = {
  "scale too high":
    "at a lower scale the same step is finite: the loss scale carried a gradient out of range",
  "scale out of range": "the loss scaler gave a scale that gradients cannot be divided by",
  "half too narrow": "it is finite in float32: the half cannot hold this value",
  underflow: "gradients that are not 0 in float32 are 0 in the half at this scale",
  "lost updates": "updates that are not 0 leave the weights as they were: they are below their precision",
  "no gradient": "the step is finite, and every gradient is 0, in float32 too",
  "learning rate": "the learning rate carried the weights out of range",
  optimizer: "the gradients are finite, and the update that the optimizer makes of them is not",
  model: "it is not finite in float32 either: the model itself made an infinity or NaN",
  parameters: "the state that the step began with holds it already",
  data: "the data holds it already",
} as const;

/** The cause of a step's problem. */
export type DiagnosisCause = keyof typeof explanations;

/** The problem that the examination of a step found. */
export interface Finding {
  readonly cause: DiagnosisCause;
  readonly at: Attribution;
  readonly remedies?: readonly Remedy[];
  /** The fact that shows the cause, such as `it is Infinity` of a learning rate or a percentage of lost gradients. */
  readonly what?: string;
  /** The operator whose gradient is not finite. */
  readonly forward?: string;
}

const advice: Readonly<Record<DiagnosisCause, string>> = {
  "scale too high": "begin at a loss scale that fits",
  "scale out of range": "let the scaler stay in its range",
  "half too narrow": "compute it in a wider format, or make the values smaller (standardize, normalize)",
  underflow: "of the gradients are lost: begin at a higher loss scale",
  "lost updates":
    "of the updates are lost: keep the weights in float32 (f32Master); where they are, raise the learning rate, or clipNorm",
  "no gradient":
    "check that labels count in this batch (masks, ignoreIndex, weights), and that the units before the loss are not dead (a relu of negative numbers) or saturated",
  "learning rate": "lower the learning rate, and begin again from weights before that",
  optimizer:
    "raise the optimizer's epsilon, clip gradients or lower the learning rate; where gradients are beyond 1e19, whose square float32 does not hold, make the loss smaller",
  model:
    "numbers leave the range of float32 here: standardize the inputs, begin with smaller weights, make the loss smaller or clip",
  parameters:
    "begin again from weights that are finite; while checkNewParameters is true, no step makes others",
  data: "check this input",
};

const ofNoLabel =
  "a mean over labels of which none counts (ignoreIndex, weights of classes): return { loss, weight: lossWeight(loss) }, with lossWeight of @mp/nn, or leave such batches out";

/** Advice on operators that make infinities or NaN of finite operands, or whose gradients do. */
const ofOperators: Readonly<Record<string, string>> = {
  Log: "Log of 0 or less: add an epsilon or clip its operand",
  Sqrt: "Sqrt of a number below 0, or its gradient at 0, which is infinite also where a mask takes the result away: add an epsilon to its operand",
  Div: "Div by 0 (a mean over labels of which none counts?), or a quotient that is out of range: add an epsilon to the divisor or clip it",
  Reciprocal: "Reciprocal of 0: add an epsilon or clip its operand",
  Pow: "Pow of 0 or less, or a power that is out of range: add an epsilon or clip its operand",
  Exp: "Exp of more than 88 is infinite: subtract the largest operand first, as softmax and logSumExp do, or clip it",
  SoftmaxCrossEntropyLoss: ofNoLabel,
  NegativeLogLikelihoodLoss: ofNoLabel,
  Where:
    "Where chooses an infinity, and a row of a softmax that a mask of -∞ leaves without any entry is NaN: mask with a finite number such as -3e4, or leave such rows out",
};

/** The advice for a finding, with the remedies that were tried. */
export function advise({ cause, at, remedies = [], what, forward }: Finding): string {
  const ofOperator = cause === "model" ? ofOperators[forward ?? at.op] : undefined;
  const words =
    cause === "underflow" || cause === "lost updates"
      ? [`${what} ${advice[cause]}`]
      : [what, ofOperator ?? advice[cause]];
  const tried =
    remedies.length === 0 ? undefined : `tried on this step, remedies: ${formatRemedies(remedies)}`;
  return [...words, tried].filter((part) => part !== undefined).join("; ");
}
