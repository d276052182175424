/** Softmax and normalization layers. */
import type { Op } from "../../graph/attributes.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { emit, emitAll } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { readAxis } from "./axis.js";

/**
 * Softmax along the axis, computed in f32. The result has x's float dtype and shape.
 * @throws MP_DTYPE_MISMATCH, and MP_INVALID_ARGUMENT for an axis that x does not have
 */
export function softmax(x: Tensor, axis = -1): Tensor {
  return emit("Softmax", [x], { axis: readAxis(x, axis, "Softmax") });
}

/** The logarithm of `softmax`, finite where `softmax` underflows to 0. @throws as `softmax` */
export function logSoftmax(x: Tensor, axis = -1): Tensor {
  return emit("LogSoftmax", [x], { axis: readAxis(x, axis, "LogSoftmax") });
}

export interface NormalizationOptions {
  /** First normalized axis, default last. */
  readonly axis?: number;
  /** Added to the variance or the mean square; default 1e-5. */
  readonly epsilon?: number;
}

const NORMALIZATION: OptionNames<NormalizationOptions> = { axis: true, epsilon: true };

function readAttributes(op: Op, x: Tensor, options: NormalizationOptions): Required<NormalizationOptions> {
  checkOptions(op, options, NORMALIZATION, "{ epsilon: 1e-6 }");
  const { axis = -1, epsilon = 1e-5 } = options;
  return { axis: readAxis(x, axis, op), epsilon };
}

/**
 * (x - mean) / √(variance + epsilon) · scale + bias over `axis` … last (Ba et al., arXiv 1607.06450). Statistics are in f32;
 * the result has x's shape and dtype.
 * @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH, MP_INVALID_ARGUMENT
 */
export function layerNormalization(
  x: Tensor,
  scale: Tensor,
  bias?: Tensor,
  options: NormalizationOptions = {},
): Tensor {
  const operands = bias === undefined ? [x, scale] : [x, scale, bias];
  const attributes = readAttributes("LayerNormalization", x, options);
  return emitAll("LayerNormalization", operands, attributes)[0] as Tensor;
}

/**
 * x / √(mean(x²) + epsilon) · scale over `axis` … last (Zhang and Sennrich, arXiv 1910.07467). The mean is in f32; the
 * result has x's shape and dtype.
 * @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH, MP_INVALID_ARGUMENT
 */
export function rmsNormalization(x: Tensor, scale: Tensor, options: NormalizationOptions = {}): Tensor {
  return emit("RMSNormalization", [x, scale], readAttributes("RMSNormalization", x, options));
}
