import { mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import { div, mul, sqrt } from "@mp/graph/ops";
import { clipFactor } from "../../optim/clip.js";
import { sumOfSquares } from "../../optim/global-norm.js";
import { LARGEST_SCALE } from "../../precision/loss-scaler.js";
import type { StepDefinition } from "../definition/definition.js";
import { type ScaleRange, scaleRange } from "./scale.js";
import type { Window } from "./window.js";

export interface Unscaled {
  /** Unscaled gradients, means or sums over microbatches, clipped if requested; f32. */
  readonly gradients: TensorTree;
  /** This process's part of the gradients: all gradients, unless the update is sharded. */
  readonly own: TensorTree;
  /** Norm of the gradients before clipping; infinite beyond 1.8e19, where squares overflow f32. */
  readonly gradNorm: Tensor;
}

/** Largest scale at which squares of scaled gradients are finite in f32 if the unscaled norm is below 2^40. */
const LARGEST_SQUARED_SCALE = 2 ** 24;
/** Smallest scale at which the square of a scaled gradient is at least that of the unscaled gradient. */
const SMALLEST_SQUARED_SCALE = 1;

/** Divides by a number that is known when the graph is built, or by a traced total. */
export function divideBy(x: Tensor, parts: number | Tensor): Tensor {
  if (typeof parts !== "number") return div(x, parts);
  return parts === 1 ? x : mul(x, 1 / parts);
}

/**
 * Divides the sums of a window by the scale and, for means, by the number or total weight of the losses; then
 * clips. The norm is computed from the unscaled gradients, because squares of scaled ones may overflow or
 * underflow. If clipping is on and the scaler's bounds exclude this, the norm of the scaled gradients is
 * unscaled instead, and one multiplication both unscales and clips. Weights have no bound, so weighted sums
 * are always divided first.
 */
export function unscale(
  definition: StepDefinition,
  { gradients: sums, parts: { gradients: parts } }: Pick<Window, "gradients" | "parts">,
  scale: Tensor,
): Unscaled {
  const { clipNorm, precision } = definition;
  const range = scaleRange(precision.lossScaler);
  // A division, so that a constant scale is folded when the graph is built.
  const inverse = div(1, scale);
  const own = (tree: TensorTree): TensorTree => definition.shard?.own(tree) ?? tree;
  if (clipNorm !== undefined && typeof parts === "number" && isSquared(range, parts)) {
    const factor = divideBy(inverse, parts);
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

/** Whether squares of scaled gradients stay in range; sums of `parts` losses may be that many times larger. */
const isSquared = ({ from, to }: ScaleRange, parts: number): boolean =>
  from >= SMALLEST_SQUARED_SCALE && to * parts <= LARGEST_SQUARED_SCALE;

const times = (tree: TensorTree, factor: Tensor | number): TensorTree =>
  mapTensors((leaf) => mul(leaf, factor), tree);

interface Divisors {
  readonly inverse: Tensor;
  /** Divisor that turns the sums into means; 1 leaves them sums. */
  readonly parts: number | Tensor;
  readonly range: ScaleRange;
}

/** Divides by scale and `parts` in one multiplication, or in two if an engine could flush 1 / (scale · parts) to 0. */
function divideSums(sums: TensorTree, { inverse, parts, range }: Divisors): TensorTree {
  if (parts === 1) return times(sums, inverse);
  if (typeof parts !== "number") return times(times(sums, inverse), div(1, parts));
  if (range.to * parts <= LARGEST_SCALE) return times(sums, mul(inverse, 1 / parts));
  return times(times(sums, inverse), 1 / parts);
}
