import { mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import { div, mul, sqrt } from "@mp/graph/ops";
import { clipFactor } from "../../optim/clip.js";
import { sumOfSquares } from "../../optim/global-norm.js";
import { LARGEST_SCALE } from "../../precision/loss-scaler.js";
import type { StepDefinition } from "../definition/definition.js";
import { type ScaleRange, scaleRange } from "./scale.js";

export interface Unscaled {
  /** Unscaled means over the window, or sums, clipped if requested; f32. */
  readonly gradients: TensorTree;
  /** This process's part of the gradients: all of them, unless the update is divided. */
  readonly own: TensorTree;
  /** Norm of the gradients before clipping; infinite beyond 1.8e19, where squares overflow f32. */
  readonly gradNorm: Tensor;
}

/** Up to this scale, squares of scaled gradients are finite in f32 as long as the unscaled norm is below 2^40. */
const LARGEST_SQUARED_SCALE = 2 ** 24;
/** From this scale on, squares of scaled gradients are at least as large as those of unscaled ones. */
const SMALLEST_SQUARED_SCALE = 1;

/** The number of losses that a window sums over microbatches and ranks, by which means are divided. */
export const lossesIn = ({ accumulate, rank }: Pick<StepDefinition, "accumulate" | "rank">): number =>
  accumulate * (rank?.size ?? 1);

/**
 * Divides the sums of a window by the scale and, for means, by the number of losses; then clips. Squares of scaled
 * gradients may overflow or underflow, so the norm is that of the unscaled gradients, which exist anyway without
 * clipping. With clipping this would cost another multiplication of all gradients; if the scaler's bounds exclude
 * such scales, the norm of the scaled gradients is unscaled instead.
 */
export function unscale(definition: StepDefinition, sums: TensorTree, scale: Tensor): Unscaled {
  const { clipNorm, accumulation, precision } = definition;
  const range = scaleRange(precision.lossScaler);
  const parts = accumulation === "mean" ? lossesIn(definition) : (definition.rank?.size ?? 1);
  // A division, so that a constant scale is folded when the graph is built.
  const inverse = div(1, scale);
  const own = (tree: TensorTree): TensorTree => definition.shard?.own(tree) ?? tree;
  if (clipNorm !== undefined && isSquared(range, parts)) {
    const factor = parts === 1 ? inverse : mul(inverse, 1 / parts);
    const gradNorm = mul(sqrt(sumOfSquares(sums)), factor);
    const clipped = mul(factor, clipFactor(gradNorm, clipNorm));
    const gradients = times(sums, clipped);
    // Computed from the part alone, so that nothing reads the whole tree.
    return {
      gradients,
      own: definition.shard === undefined ? gradients : times(own(sums), clipped),
      gradNorm,
    };
  }
  const unscaled = divideSums(sums, { inverse, parts, range });
  const gradNorm = sqrt(sumOfSquares(unscaled));
  const gradients = clipNorm === undefined ? unscaled : times(unscaled, clipFactor(gradNorm, clipNorm));
  return { gradients, own: own(gradients), gradNorm };
}

/** Whether squares of scaled gradients stay in range; a sum of several losses may be that many times larger. */
const isSquared = ({ from, to }: ScaleRange, parts: number): boolean =>
  from >= SMALLEST_SQUARED_SCALE && to * parts <= LARGEST_SQUARED_SCALE;

const times = (tree: TensorTree, factor: Tensor | number): TensorTree =>
  mapTensors((leaf) => mul(leaf, factor), tree);

interface Divisors {
  readonly inverse: Tensor;
  /** Divisor that turns the sums into means; 1 leaves them sums. */
  readonly parts: number;
  readonly range: ScaleRange;
}

/** Divides by one factor, or by two if an engine could flush their subnormal product to 0. */
function divideSums(sums: TensorTree, { inverse, parts, range }: Divisors): TensorTree {
  if (parts === 1) return times(sums, inverse);
  if (range.to * parts <= LARGEST_SCALE) return times(sums, mul(inverse, 1 / parts));
  return times(times(sums, inverse), 1 / parts);
}
