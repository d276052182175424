import type { Tensor } from "@mp/core";
import { abs, add, cast, clip, div, mul, neg, softplus, sub } from "@mp/core/ops";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { expectAlike, expectFloatLogits } from "./check-tensor.js";
import { REDUCTION, type ReductionOptions, reduceLoss } from "./loss-reduction.js";
import { lossWeight, weighedMean } from "./loss-weight.js";

/**
 * (prediction - target)², by default the mean over all elements, in f32. Shapes are not broadcast, because [n] against
 * [n, 1] would give n² differences.
 * @throws MP_INVALID_ARGUMENT for a value that is not a tensor, MP_SHAPE_MISMATCH for shapes that differ
 */
export function meanSquaredError(prediction: Tensor, target: Tensor, options: ReductionOptions = {}): Tensor {
  const read = readOptions("meanSquaredError", options, REDUCTION, { example: '{ reduction: "sum" }' });
  expectAlike("meanSquaredError", { prediction, target });
  const difference = sub(prediction, target);
  return reduceLoss("meanSquaredError", mul(difference, difference), read);
}

/**
 * |prediction - target|, PyTorch's L1 loss, by default the mean over all elements, in f32. The gradient of an element
 * is ±1, and 0 where both are equal.
 * @throws as `meanSquaredError`
 */
export function meanAbsoluteError(
  prediction: Tensor,
  target: Tensor,
  options: ReductionOptions = {},
): Tensor {
  const read = readOptions("meanAbsoluteError", options, REDUCTION, { example: '{ reduction: "sum" }' });
  expectAlike("meanAbsoluteError", { prediction, target });
  return reduceLoss("meanAbsoluteError", abs(sub(prediction, target)), read);
}

/**
 * Binary cross entropy of logits [...] (any float) against targets of the same shape, probabilities from 0 to 1 (a
 * float, an integer or bool); by default the mean over all elements, an f32 scalar. Computed in f32 under any policy,
 * as y · softplus(-x) + (1 - y) · softplus(x). In this form no sigmoid rounds to 0 or 1, nothing cancels, and the
 * gradient at 0 is ½ - y without a special case.
 * @throws MP_INVALID_ARGUMENT for a value that is not a tensor, MP_DTYPE_MISMATCH for logits that are not floats,
 *   MP_SHAPE_MISMATCH for shapes that differ
 */
export function binaryCrossEntropyWithLogits(
  logits: Tensor,
  targets: Tensor,
  options: ReductionOptions = {},
): Tensor {
  const what = "binaryCrossEntropyWithLogits";
  const read = readOptions(what, options, REDUCTION, { example: '{ reduction: "sum" }' });
  expectAlike(what, { logits, targets });
  expectFloatLogits(what, logits);
  const [x, y] = [cast(logits, "f32"), cast(targets, "f32")];
  return reduceLoss(what, add(mul(y, softplus(neg(x))), mul(sub(1, y), softplus(x))), read);
}

export interface HuberOptions extends ReductionOptions {
  /** The magnitude of the difference from which the loss is linear; above 0, default 1. */
  readonly delta?: number;
}

/** Checks the option `delta` or `beta`. */
const extent = checks.claim("above 0 in f32", (value) => {
  const rounded = typeof value === "number" ? Math.fround(value) : Number.NaN;
  return rounded > 0 && Number.isFinite(rounded);
});

const HUBER = { ...REDUCTION, delta: withDefault(1, extent) };

/**
 * Huber loss of floats of the same shape: ½d² if the difference d is at most `delta`, delta · (|d| - ½delta)
 * beyond. Computed in f32 under any policy. The gradient of an element is d, limited to ±delta.
 * @throws MP_INVALID_ARGUMENT for a value that is not a tensor or a delta that is not above 0, MP_SHAPE_MISMATCH for
 *   shapes that differ
 */
export function huber(prediction: Tensor, target: Tensor, options: HuberOptions = {}): Tensor {
  const read = readOptions("huber", options, HUBER, { example: "{ delta: 1 }" });
  expectAlike("huber", { prediction, target });
  return reduceLoss("huber", huberElements(prediction, target, read.delta), read);
}

/** Options of `smoothL1`. For a detector, use `sum` and divide by the number of matched boxes. */
export interface SmoothL1Options extends ReductionOptions {
  /** The magnitude of the difference from which the loss is linear; above 0, default 1. */
  readonly beta?: number;
}

const SMOOTH_L1 = { ...REDUCTION, beta: withDefault(1, extent) };

/**
 * Smooth L1, which is `huber` with delta = `beta`, divided by `beta`: ½d² / beta if |d| ≤ beta, |d| - ½beta
 * beyond. The gradient of an element is d / beta, limited to ±1.
 * @throws as `huber`
 */
export function smoothL1(prediction: Tensor, target: Tensor, options: SmoothL1Options = {}): Tensor {
  const { beta, ...read } = readOptions("smoothL1", options, SMOOTH_L1, { example: "{ beta: 1 }" });
  expectAlike("smoothL1", { prediction, target });
  const reduced = reduceLoss("smoothL1", huberElements(prediction, target, beta), read);
  const scaled = (): Tensor => div(reduced, beta);
  if (read.reduction !== "mean") return scaled();
  return weighedMean({ isUneven: false, weight: () => lossWeight(reduced) }, scaled);
}

/**
 * The Huber loss of each element, c · (d - c / 2) with c = d limited to ±delta. This form needs no branch,
 * its square does not overflow, and its gradient is right both within and beyond ±delta.
 */
function huberElements(prediction: Tensor, target: Tensor, delta: number): Tensor {
  const difference = sub(cast(prediction, "f32"), cast(target, "f32"));
  const limited = clip(difference, { min: -delta, max: delta });
  return mul(limited, sub(difference, mul(limited, 0.5)));
}
