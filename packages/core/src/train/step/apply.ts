import { checkUpdate } from "../../optim/check-update.js";
import { computedRates } from "../../optim/optimizer.js";
import { poisonOf } from "../../trace/finite.js";
import { mapTensors, type TensorTree, tensorsOf } from "../../trace/map-tensors.js";
import { add, and, equal, greater, mul, or, where } from "../../trace/ops/binary.js";
import { reduceSum } from "../../trace/ops/reduce.js";
import { literal } from "../../trace/ops/source.js";
import { cast, not } from "../../trace/ops/unary.js";
import { foldIn } from "../../trace/random.js";
import type { Tensor } from "../../trace/tensor.js";
import { withoutLines, withPhase } from "../../trace/trace.js";
import { poisonOfUpdate } from "../checks/poison.js";
import type { StepDefinition } from "../definition.js";
import { ownKey } from "../objectives/objective-state.js";
import type { TrainingState } from "../state.js";
import { nextAverage } from "../weights/average.js";
import { isUsable, scaleOf } from "./scale.js";
import { lossesIn, unscale } from "./unscale.js";

/** The sums over a window of microbatches (one without accumulation), and over ranks. */
export interface Window {
  /** Sum of the microbatches' losses. */
  readonly loss: Tensor;
  /** Sum of the microbatches' gradients of loss · scale, f32. */
  readonly gradients: TensorTree;
  /** Model state after the last microbatch. */
  readonly model: TensorTree;
  /** NaN if anything so far was not finite, else 0. */
  readonly poison: Tensor;
}

export interface Applied {
  readonly state: TrainingState;
  readonly outputs: {
    readonly loss: Tensor;
    readonly applied: Tensor;
    readonly scale: Tensor;
    readonly gradNorm: Tensor;
    /** By group, those that are not constants. */
    readonly rates: Readonly<Record<string, Tensor>>;
    readonly again: Tensor;
    readonly consecutiveSkips: Tensor;
  };
}

/** bool scalar of a floating scalar: neither infinite nor NaN. */
const isFiniteScalar = (x: Tensor): Tensor => equal(mul(x, 0), 0);

/** Unscale → clip → optimizer on masters → finite check → scaler and counters: the transactional half of the step. */
export function applyGradients(definition: StepDefinition, state: TrainingState, window: Window): Applied {
  return withPhase("update", () => withoutLines(() => apply(definition, state, window)));
}

function apply(definition: StepDefinition, state: TrainingState, window: Window): Applied {
  const { precision, optimizer } = definition;
  const { lossScaler, masterWeights } = precision;
  const losses = lossesIn(definition);
  const scale = scaleOf(definition, state);
  const { gradients, gradNorm } = unscale(definition, window.gradients, scale);

  const weights = mapTensors((weight) => cast(weight, "f32"), masterWeights.parameters(state.master));
  const context = { step: state.applied, settable: state.rates };
  const update = optimizer.update(gradients, state.optimizer, weights, context);
  checkUpdate(optimizer.name, update, gradients);
  const { updates, state: optimizerState } = update;
  const master = masterWeights.apply(state.master, updates, foldIn(ownKey(definition), "master"));

  const { finite, finiteAtScale } = judge(definition, {
    window,
    scale,
    gradNorm,
    rates: update.rates ?? [],
    written: definition.checkNewParameters ? { gradients, master, optimizerState } : { gradients },
  });
  const scaler = lossScaler.update(state.scaler, finiteAtScale);
  const counters = count(definition, state, { scaler, finite, finiteAtScale });
  return {
    state: {
      master,
      optimizer: optimizerState,
      model: window.model,
      ema: averageAfter(definition, state, master),
      applied: add(state.applied, 1),
      frozen: state.frozen,
      scaler,
      rates: state.rates,
      ...counters.next,
    },
    outputs: {
      loss: losses === 1 ? window.loss : mul(window.loss, 1 / losses),
      applied: finite,
      scale,
      gradNorm,
      rates: computedRates(optimizer, context),
      again: counters.again,
      consecutiveSkips: counters.next.consecutiveSkips,
    },
  };
}

function averageAfter(
  { ema, precision: { masterWeights } }: StepDefinition,
  state: TrainingState,
  master: TensorTree,
): TensorTree {
  if (ema === undefined) return state.ema;
  return nextAverage(ema, state.ema, masterWeights.parameters(master), state.applied);
}

interface Evidence {
  readonly window: Window;
  readonly scale: Tensor;
  readonly gradNorm: Tensor;
  readonly rates: readonly Tensor[];
  /** The gradients that the optimizer got, and its results as far as they are checked. */
  readonly written: TensorTree;
}

/** Verdicts on a step, bool scalars. */
interface Verdict {
  /** Whether everything is finite: the step is applied. */
  readonly finite: Tensor;
  /** Whether the values that depend on the scale are finite: loss, model state and gradients. */
  readonly finiteAtScale: Tensor;
}

function judge(
  { clipNorm, precision: { lossScaler } }: StepDefinition,
  { window, scale, gradNorm, rates, written }: Evidence,
): Verdict {
  const forward = add(window.poison, poisonOf({ loss: window.loss, model: window.model }));
  const passed = and(isUsable(scale, lossScaler), equal(forward, 0));
  const normIsFinite = isFiniteScalar(gradNorm);
  // An infinite rate times a gradient of 0 would make the parameter NaN.
  const ratesAreFinite = rates.reduce((all, rate) => and(all, isFiniteScalar(rate)), passed);
  // Clipping by a norm that overflowed would make every gradient 0 and count the step as applied.
  const canClip = clipNorm === undefined ? ratesAreFinite : and(ratesAreFinite, normIsFinite);
  const finite = and(canClip, equal(poisonOfUpdate(written), 0));
  // If the norm is finite, so are the gradients; a non-finite value then comes from a later computation.
  return { finite, finiteAtScale: or(finite, and(passed, normIsFinite)) };
}

type Counters = Pick<TrainingState, "iteration" | "drawn" | "skipped" | "consecutiveSkips" | "retries">;

/**
 * An overflow that depends on the scale is retried while the scaler still changes and retries remain; otherwise the
 * iteration is skipped. A scaler that no longer changes, because it is at its minimum or has no state, would see the
 * same overflow again.
 */
function count(
  definition: StepDefinition,
  state: TrainingState,
  { scaler, finite, finiteAtScale }: Verdict & { readonly scaler: TensorTree },
): { readonly next: Counters; readonly again: Tensor } {
  const skipped = not(finite);
  const retries = add(state.retries, 1);
  const again =
    definition.onOverflow === "retry" && tensorsOf(state.scaler).length > 0
      ? and(
          and(not(finiteAtScale), differs(state.scaler, scaler)),
          not(greater(retries, definition.maxRetries)),
        )
      : // No step is both, so this is false, as a value of the graph.
        and(skipped, finite);
  const advanceBy = (steps: number): Tensor => cast(where(again, literal(0, "i32"), steps), "i64");
  const skips = where(and(skipped, not(again)), literal(1, "i32"), 0);
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

/** bool scalar: whether any element of two trees of one structure differs. */
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
