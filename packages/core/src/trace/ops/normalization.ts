/** Softmax, normalization layers and likelihood losses. */
import type { LossReduction, Op } from "../../graph/attributes.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { emit, emitAll } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { axisOf } from "./axis.js";

/**
 * Softmax along the axis, with x's float dtype and shape; computed in f32.
 * @throws MP_DTYPE_MISMATCH, and MP_INVALID_ARGUMENT for an axis that x does not have
 */
export function softmax(x: Tensor, axis = -1): Tensor {
  return emit("Softmax", [x], { axis: axisOf(x, axis, "Softmax") });
}

/** The logarithm of `softmax`, finite where that is 0. @throws as `softmax` */
export function logSoftmax(x: Tensor, axis = -1): Tensor {
  return emit("LogSoftmax", [x], { axis: axisOf(x, axis, "LogSoftmax") });
}

export interface LikelihoodOptions {
  /** `mean` divides by the total weight of the labels that are not ignored. */
  readonly reduction?: LossReduction;
  /** Labels of this value are ignored. */
  readonly ignoreIndex?: number;
  /** One weight per class, [C]. */
  readonly weights?: Tensor;
}

const LIKELIHOOD: OptionNames<LikelihoodOptions> = { reduction: true, ignoreIndex: true, weights: true };

function attributes(
  op: Op,
  options: LikelihoodOptions,
): {
  readonly reduction: LossReduction;
  readonly ignoreIndex?: number;
} {
  checkOptions(op, options, LIKELIHOOD, '{ reduction: "sum" }');
  const { reduction = "mean", ignoreIndex } = options;
  return ignoreIndex === undefined ? { reduction } : { reduction, ignoreIndex };
}

/** Cross entropy of scores [N, C, d…] against labels i32 [N, d…], computed through log-softmax. */
export function softmaxCrossEntropyLoss(
  scores: Tensor,
  labels: Tensor,
  options: LikelihoodOptions = {},
): Tensor {
  const settings = attributes("SoftmaxCrossEntropyLoss", options);
  const inputs = options.weights === undefined ? [scores, labels] : [scores, labels, options.weights];
  return emitAll("SoftmaxCrossEntropyLoss", inputs, settings)[0] as Tensor;
}

/** Negative log likelihood of log-probabilities [N, C, d…] at labels i32 [N, d…]. */
export function negativeLogLikelihoodLoss(
  scores: Tensor,
  labels: Tensor,
  options: LikelihoodOptions = {},
): Tensor {
  const settings = attributes("NegativeLogLikelihoodLoss", options);
  const inputs = options.weights === undefined ? [scores, labels] : [scores, labels, options.weights];
  return emit("NegativeLogLikelihoodLoss", inputs, settings);
}

export interface NormalizationOptions {
  /** First normalized axis, default last. */
  readonly axis?: number;
  readonly epsilon?: number;
}

const NORMALIZATION: OptionNames<NormalizationOptions> = { axis: true, epsilon: true };

/** (x - mean) / sqrt(variance + epsilon) · scale + bias over `axis` … last; statistics are in f32. */
export function layerNormalization(
  x: Tensor,
  scale: Tensor,
  bias?: Tensor,
  options: NormalizationOptions = {},
): Tensor {
  checkOptions("LayerNormalization", options, NORMALIZATION, "{ epsilon: 1e-6 }");
  const { axis = -1, epsilon = 1e-5 } = options;
  return emitAll("LayerNormalization", bias === undefined ? [x, scale] : [x, scale, bias], {
    axis: axisOf(x, axis, "LayerNormalization"),
    epsilon,
  })[0] as Tensor;
}

/** x / sqrt(mean(x²) + epsilon) · scale over `axis` … last; the mean is in f32. */
export function rmsNormalization(x: Tensor, scale: Tensor, options: NormalizationOptions = {}): Tensor {
  checkOptions("RMSNormalization", options, NORMALIZATION, "{ epsilon: 1e-6 }");
  const { axis = -1, epsilon = 1e-5 } = options;
  return emit("RMSNormalization", [x, scale], {
    axis: axisOf(x, axis, "RMSNormalization"),
    epsilon,
  });
}
