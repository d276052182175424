/** Normalization of channels by batch statistics or by given statistics. */
import { shapeMismatch } from "../../errors.js";
import { checkAttribute } from "../../graph/attribute-kinds-table.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { formatShape, type Shape } from "../../shape.js";
import { asTensor, emitAll } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { add, mul, sub } from "./binary.js";
import { reshape } from "./movement.js";
import { cast, reciprocal, sqrt } from "./unary.js";

export interface BatchNormalizationOptions {
  /** Added to the variance; default 1e-5. */
  readonly epsilon?: number;
}

const OPTIONS: OptionNames<BatchNormalizationOptions> = { epsilon: true };

function readEpsilon(options: BatchNormalizationOptions): number {
  checkOptions("BatchNormalization", options, OPTIONS, "{ epsilon: 1e-3 }");
  const { epsilon = 1e-5 } = options;
  checkAttribute("BatchNormalization", "epsilon", epsilon);
  return epsilon;
}

/** @throws MP_SHAPE_MISMATCH for a part whose shape is not [C], where `shape` is [N, C, …] */
export function expectPerChannel(what: string, shape: Shape, parts: Readonly<Record<string, Tensor>>): void {
  for (const [name, part] of Object.entries(parts)) {
    const got = asTensor(part, what).shape;
    if (got.length === 1 && got[0] === shape[1]) continue;
    throw shapeMismatch(
      `${what}: ${name} must be [C] for x [N, C, …], got ${formatShape(got)} for ${formatShape(shape)}`,
    );
  }
}

/** Mean and variance of each channel, f32 [C]. */
export interface ChannelStatistics {
  readonly mean: Tensor;
  /** Biased variance: the mean of squared differences. */
  readonly variance: Tensor;
}

export interface BatchNormalized extends ChannelStatistics {
  readonly y: Tensor;
}

/**
 * (x - mean) / √(variance + epsilon) · scale + bias for x [N, C, d…], scale and bias [C]. Mean and variance are taken
 * of this batch over all axes but the second. They are returned, too, and computed in f32 for any dtype of x.
 * @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH, MP_INVALID_ARGUMENT for an epsilon below 0
 */
export function batchNormalization(
  x: Tensor,
  scale: Tensor,
  bias: Tensor,
  options: BatchNormalizationOptions = {},
): BatchNormalized {
  const epsilon = readEpsilon(options);
  const [y, mean, variance] = emitAll("BatchNormalization", [x, scale, bias], { epsilon });
  return { y: y as Tensor, mean: mean as Tensor, variance: variance as Tensor };
}

/**
 * `batchNormalization` with given statistics, as in evaluation. It is ordinary f32 arithmetic (a difference, a
 * product and a sum per element), so no engine needs an operator for it. The result has x's dtype.
 * @throws MP_SHAPE_MISMATCH, MP_INVALID_ARGUMENT for an epsilon below 0
 */
export function normalizeByStatistics(
  x: Tensor,
  scale: Tensor,
  bias: Tensor,
  { mean, variance }: ChannelStatistics,
  options: BatchNormalizationOptions = {},
): Tensor {
  const epsilon = readEpsilon(options);
  const { dtype, shape } = asTensor(x, "normalizeByStatistics");
  expectPerChannel("normalizeByStatistics", shape, { scale, bias, mean, variance });
  const each = (part: Tensor): Tensor =>
    reshape(cast(part, "f32"), [part.shape[0] ?? 1, ...shape.slice(2).map(() => 1)]);
  const factor = mul(each(scale), reciprocal(sqrt(add(each(variance), epsilon))));
  const y = add(mul(sub(cast(x, "f32"), each(mean)), factor), each(bias));
  // Under a policy, a cast to the same dtype would pin the tensor to f32.
  return y.dtype === dtype ? y : cast(y, dtype);
}
