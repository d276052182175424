import { clipFactor } from "../../optim/clip.js";
import { sumOfSquares } from "../../optim/global-norm.js";
import { LARGEST_SCALE } from "../../precision/loss-scaler.js";
import { mapTensors, type TensorTree } from "../../trace/map-tensors.js";
import { div, mul } from "../../trace/ops/binary.js";
import { sqrt } from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import type { StepDefinition } from "../definition.js";
import { type ScaleRange, scaleRange } from "./scale.js";

export interface Unscaled {
  /** Unscaled means over the window, or sums, clipped if requested; f32. */
  readonly gradients: TensorTree;
  /** Their norm before clipping. Infinite beyond 1.8e19, where squares leave f32. */
  readonly gradNorm: Tensor;
}

/**
 * Up to this scale the squares of scaled gradients are finite in f32 while the norm of the unscaled ones is below 2^40.
 */
const LARGEST_SQUARED_SCALE = 2 ** 24;
/** From this scale on they are no closer to 0 than the squares of unscaled ones. */
const SMALLEST_SQUARED_SCALE = 1;

/**
 * Divides the sums of a window by scale and, for means, number of microbatches, and clips them. Squares of scaled gradients may
 * overflow or underflow, so the norm is computed from unscaled gradients, which exist anyway without clipping. With
 * clipping this would be another multiplication of all gradients; if the scaler's bounds exclude such scales, the norm
 * of the scaled gradients is unscaled instead.
 */
export function unscale(definition: StepDefinition, sums: TensorTree, scale: Tensor): Unscaled {
  const { clipNorm, accumulate, accumulation, precision } = definition;
  const range = scaleRange(precision.lossScaler);
  // A division, so that a constant scale is folded when the graph is built.
  const inverse = div(1, scale);
  if (clipNorm !== undefined && accumulate === 1 && isSquared(range)) {
    const gradNorm = mul(sqrt(sumOfSquares(sums)), inverse);
    return { gradients: times(sums, mul(inverse, clipFactor(gradNorm, clipNorm))), gradNorm };
  }
  const parts = accumulation === "mean" ? accumulate : 1;
  const unscaled = dividedBy(sums, { inverse, parts, range });
  const gradNorm = sqrt(sumOfSquares(unscaled));
  return {
    gradients: clipNorm === undefined ? unscaled : times(unscaled, clipFactor(gradNorm, clipNorm)),
    gradNorm,
  };
}

const isSquared = ({ from, to }: ScaleRange): boolean =>
  from >= SMALLEST_SQUARED_SCALE && to <= LARGEST_SQUARED_SCALE;

const times = (tree: TensorTree, factor: Tensor | number): TensorTree =>
  mapTensors((leaf) => mul(leaf, factor), tree);

interface Divisors {
  readonly inverse: Tensor;
  /** Of which the sums are divided into means; 1 leaves them sums. */
  readonly parts: number;
  readonly range: ScaleRange;
}

/** One factor, or two if their product could be subnormal: an engine that flushes it would make all gradients 0. */
function dividedBy(sums: TensorTree, { inverse, parts, range }: Divisors): TensorTree {
  if (parts === 1) return times(sums, inverse);
  if (range.to * parts <= LARGEST_SCALE) return times(sums, mul(inverse, 1 / parts));
  return times(times(sums, inverse), 1 / parts);
}
