import { clipFactor } from "../optim/clip.js";
import { sumOfSquares } from "../optim/global-norm.js";
import { checkUpdate } from "../optim/optimizer.js";
import { poisonOf } from "../trace/finite.js";
import { mapTensors, type TensorTree, tensorsOf } from "../trace/map-tensors.js";
import {
  abs,
  add,
  and,
  cast,
  div,
  equal,
  greater,
  lessOrEqual,
  literal,
  mul,
  not,
  or,
  sqrt,
  where,
} from "../trace/ops/elementwise.js";
import { reduceSum } from "../trace/ops/reduce.js";
import { fold } from "../trace/random.js";
import type { Tensor } from "../trace/tensor.js";
import { withoutLines, withPhase } from "../trace/trace.js";
import type { StepDefinition } from "./definition.js";
import { poisonOfGradients } from "./poison.js";
import { scaleOf } from "./scale.js";
import type { TrainingState } from "./state.js";

/** The sum of a window of microbatches (one, without accumulation). */
export interface Window {
  /** Sum of the microbatches' losses. */
  readonly loss: Tensor;
  /** Sum of the microbatches' gradients of loss · scale, f32. */
  readonly gradients: TensorTree;
  /** Model state after the last microbatch. */
  readonly model: TensorTree;
  /** NaN when anything so far was not finite, else 0. */
  readonly poison: Tensor;
}

export interface Applied {
  readonly state: TrainingState;
  readonly outputs: {
    readonly loss: Tensor;
    readonly applied: Tensor;
    readonly scale: Tensor;
    readonly gradNorm: Tensor;
    readonly again: Tensor;
    readonly consecutiveSkips: Tensor;
  };
}

/** bool scalar of a floating scalar: neither infinite nor NaN. */
const isFiniteScalar = (x: Tensor): Tensor => equal(mul(x, 0), 0);

/** Up to here the squares of scaled gradients stay inside f32 while the norm of the unscaled ones is below 2^40. */
const LARGEST_SQUARED_SCALE = 2 ** 24;

/**
 * Unscale → finite check → clip → optimizer on masters → scaler and counters: the transactional half of the
 * step. Unscaling and the mean over the window are one factor, and clipping shares it where the norm can be taken
 * of the scaled gradients. The finite check reads the scaled gradients, which says the same of the unscaled ones
 * while the factor is at most 1, and otherwise the norm answers for them.
 */
export function applyGradients(definition: StepDefinition, state: TrainingState, window: Window): Applied {
  return withPhase("update", () => withoutLines(() => apply(definition, state, window)));
}

function apply(definition: StepDefinition, state: TrainingState, window: Window): Applied {
  const { precision, optimizer, accumulate, clipNorm } = definition;
  const { lossScaler, masterWeights } = precision;
  const scale = scaleOf(definition, state);
  // A division, so that a constant scale is divided out when the graph is built. Scale times microbatches could overflow.
  const unscale = div(1, scale);
  const inverse = accumulate === 1 ? unscale : mul(unscale, 1 / accumulate);

  const { factor, unscaled, gradNorm } = unscaledNorm(definition, window.gradients, inverse);
  const rest = poisonOf({ loss: window.loss, model: window.model });
  const clean = equal(add(window.poison, add(rest, poisonOfGradients(window.gradients))), 0);
  const normIsFinite = isFiniteScalar(gradNorm);
  // Clipping by a norm that overflowed would make every gradient 0 and count the step as applied.
  const finiteGradients = and(
    clean,
    clipNorm === undefined ? or(lessOrEqual(abs(inverse), 1), normIsFinite) : normIsFinite,
  );
  const clipped = clipNorm === undefined ? factor : mul(factor, clipFactor(gradNorm, clipNorm));
  const gradients = mapTensors((gradient) => mul(gradient, clipped), unscaled);

  const weights = mapTensors((weight) => cast(weight, "f32"), masterWeights.parameters(state.master));
  const update = optimizer.update(gradients, state.optimizer, weights, { step: state.applied });
  checkUpdate(optimizer.name, update);
  const { updates, state: optimizerState, rates = [] } = update;
  const master = masterWeights.apply(state.master, updates, fold(definition.key, "master"));
  // Times a gradient of 0, an infinite rate would make the parameter NaN.
  const finiteUpdate = rates.reduce((all, rate) => and(all, isFiniteScalar(rate)), finiteGradients);
  const finite = definition.checkNewParameters
    ? and(finiteUpdate, equal(poisonOf({ master, optimizerState }), 0))
    : finiteUpdate;

  const scaler = lossScaler.update(state.scaler, finite);
  const counters = count(definition, state, scaler, finite);
  return {
    state: {
      master,
      optimizer: optimizerState,
      model: window.model,
      applied: add(state.applied, 1),
      frozen: state.frozen,
      scaler,
      ...counters.next,
    },
    outputs: {
      loss: accumulate === 1 ? window.loss : mul(window.loss, 1 / accumulate),
      applied: finite,
      scale,
      gradNorm,
      again: counters.again,
      consecutiveSkips: counters.next.consecutiveSkips,
    },
  };
}

interface UnscaledNorm {
  /** Norm of the unscaled gradients. Infinite beyond 1.8e19, where squares leave f32. */
  readonly gradNorm: Tensor;
  /** What multiplies `unscaled` to give unscaled gradients. */
  readonly factor: Tensor;
  readonly unscaled: TensorTree;
}

/**
 * A scale may be so large that the squares of scaled gradients overflow, so the norm is that of unscaled ones.
 * Where they are there anyway this costs nothing; where clipping would be one more multiplication of all gradients
 * for it, and the scaler promises to keep away from such scales, the norm is unscaled instead.
 */
function unscaledNorm(
  { clipNorm, accumulate, precision: { lossScaler } }: StepDefinition,
  gradients: TensorTree,
  inverse: Tensor,
): UnscaledNorm {
  const { maxScale = Number.POSITIVE_INFINITY } = lossScaler;
  if (clipNorm !== undefined && accumulate === 1 && maxScale <= LARGEST_SQUARED_SCALE) {
    const gradNorm = mul(sqrt(sumOfSquares(gradients)), inverse);
    return { gradNorm, factor: inverse, unscaled: gradients };
  }
  const unscaled = mapTensors((gradient) => mul(gradient, inverse), gradients);
  return { gradNorm: sqrt(sumOfSquares(unscaled)), factor: literal(1), unscaled };
}

type Counters = Pick<TrainingState, "iteration" | "drawn" | "skipped" | "consecutiveSkips" | "retries">;

/**
 * An overflow is retried while the scaler reacts and the budget lasts; otherwise the iteration is skipped. A scaler
 * that has come to rest, at its floor or because it has no state, would only see the same overflow again.
 */
function count(
  definition: StepDefinition,
  state: TrainingState,
  scaler: TensorTree,
  finite: Tensor,
): { readonly next: Counters; readonly again: Tensor } {
  const overflow = not(finite);
  const retries = add(state.retries, 1);
  const again =
    definition.onOverflow === "retry" && tensorsOf(state.scaler).length > 0
      ? and(and(overflow, differs(state.scaler, scaler)), not(greater(retries, definition.maxRetries)))
      : and(overflow, finite);
  const advanceBy = (steps: number): Tensor => cast(where(again, literal(0, "i32"), steps), "i64");
  const skips = where(and(overflow, not(again)), literal(1, "i32"), 0);
  return {
    again,
    next: {
      iteration: add(state.iteration, advanceBy(1)),
      drawn: add(state.drawn, advanceBy(definition.accumulate)),
      skipped: add(state.skipped, skips),
      consecutiveSkips: where(finite, literal(0, "i32"), add(state.consecutiveSkips, skips)),
      retries: where(again, retries, 0),
    },
  };
}

/** bool scalar: some element of two trees of one structure is not the same. */
function differs(before: TensorTree, after: TensorTree): Tensor {
  const [a, b] = [tensorsOf(before), tensorsOf(after)];
  const changes = a.map((leaf, index) => {
    const changed = cast(not(equal(leaf, b[index] as Tensor)), "f32");
    return leaf.shape.length === 0 ? changed : reduceSum(changed);
  });
  return greater(
    changes.reduce((sum, change) => add(sum, change)),
    0,
  );
}
