import { foldIn, type Tensor, type TensorTree } from "@mp/graph";
import { poisonOf, tensorsOf, withoutLines, withPhase } from "@mp/graph/internal";
import { add, and, cast, equal, greater, literal, mul, not, or, reduceSum, where } from "@mp/graph/ops";
import { checkUpdate } from "../../optim/check-update.js";
import { computeRates } from "../../optim/optimizer.js";
import type { StepDefinition } from "../definition/definition.js";
import { ownKey } from "../definition/objective-state.js";
import type { TrainingState } from "../definition/state.js";
import { nextAverage } from "../weights/average.js";
import { sharesBelowRange } from "../weights/below-range.js";
import { moveMasters, selectMasters } from "./masters.js";
import { poisonOfUpdate } from "./poison-of-update.js";
import { computeScale, isUsable } from "./scale.js";
import { lossesIn, unscale } from "./unscale.js";

/** Sums over a window of microbatches (one without accumulation) and over ranks. */
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
    /** Rates by group, without those that are constants. */
    readonly rates: Readonly<Record<string, Tensor>>;
    /** Fractions of the optimizer's state below the range of narrow dtypes, by tensor. */
    readonly belowRange: TensorTree;
    readonly again: Tensor;
    readonly consecutiveSkips: Tensor;
  };
}

/** Whether a floating scalar is neither infinite nor NaN, bool scalar. */
const isFiniteScalar = (x: Tensor): Tensor => equal(mul(x, 0), 0);

/**
 * Unscale → clip → optimizer on masters → finite check → scaler and counters: the transactional half of the step.
 * @param verdict f32 sum of the ranks' verdicts, 0 or NaN, if their parts of a divided update are judged
 */
export function applyGradients(
  definition: StepDefinition,
  state: TrainingState,
  window: Window,
  verdict?: Tensor,
): Applied {
  return withPhase("update", () => withoutLines(() => apply(definition, state, window, verdict)));
}

/** Verdict on this process's part of the update: f32 scalar, NaN if the part would not be finite, else 0. */
export function verdictOn(definition: StepDefinition, state: TrainingState, window: Window): Tensor {
  return withPhase("update", () =>
    withoutLines(() => {
      const { own, moved, optimizer, rates } = propose(definition, state, window);
      const ofRates = rates.reduce<Tensor>((sum, rate) => add(sum, mul(rate, 0)), literal(0));
      const written = definition.checkNewParameters
        ? { gradients: own, weights: moved.weights, optimizer }
        : { gradients: own };
      return add(ofRates, poisonOfUpdate(written));
    }),
  );
}

/** Computes the update that the step makes if it is applied. `own` is this process's part of the gradients. */
function propose(definition: StepDefinition, state: TrainingState, window: Window) {
  const { optimizer } = definition;
  const scale = computeScale(definition, state);
  const { gradients, own, gradNorm } = unscale(definition, window.gradients, scale);
  const key = foldIn(ownKey(definition), "optimizer");
  const context = { step: state.applied, settable: state.rates, key };
  const update = optimizer.update(own, state.optimizer, selectMasters(definition, state.master), context);
  checkUpdate(optimizer.name, update, own);
  return {
    scale,
    gradNorm,
    gradients,
    own,
    moved: moveMasters(definition, state.master, update.updates),
    optimizer: update.state,
    rates: update.rates ?? [],
    context,
  };
}

function apply(
  definition: StepDefinition,
  state: TrainingState,
  window: Window,
  verdict: Tensor | undefined,
): Applied {
  const { ema, precision } = definition;
  const losses = lossesIn(definition);
  const proposal = propose(definition, state, window);
  const { scale, gradNorm, moved, optimizer, context } = proposal;
  const { finite, finiteAtScale } = judge(definition, { window, proposal, verdict });
  const scaler = precision.lossScaler.update(state.scaler, finiteAtScale);
  const counters = count(definition, state, { scaler, finite, finiteAtScale });
  return {
    state: {
      master: moved.master,
      optimizer,
      model: window.model,
      ema: ema === undefined ? state.ema : nextAverage(ema, state.ema, moved.weights, state.applied),
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
      rates: computeRates(definition.optimizer, context),
      belowRange: sharesBelowRange(optimizer),
      again: counters.again,
      consecutiveSkips: counters.next.consecutiveSkips,
    },
  };
}

interface Evidence {
  readonly window: Window;
  readonly proposal: ReturnType<typeof propose>;
  readonly verdict: Tensor | undefined;
}

/** Verdicts on a step, bool scalars. */
interface Verdict {
  /** Whether everything is finite, so that the step is applied. */
  readonly finite: Tensor;
  /** Whether the values that depend on the scale are finite: loss, model state and gradients. */
  readonly finiteAtScale: Tensor;
}

function judge(definition: StepDefinition, { window, proposal, verdict }: Evidence): Verdict {
  const { clipNorm, checkNewParameters, precision } = definition;
  const { scale, gradNorm, gradients, moved, optimizer } = proposal;
  const forward = add(window.poison, poisonOf({ loss: window.loss, model: window.model }));
  const passed = and(isUsable(scale, precision.lossScaler), equal(forward, 0));
  const normIsFinite = isFiniteScalar(gradNorm);
  // An infinite rate times a gradient of 0 would make the parameter NaN.
  const rates = verdict === undefined ? proposal.rates : [verdict];
  const ratesAreFinite = rates.reduce((all, rate) => and(all, isFiniteScalar(rate)), passed);
  // Clipping by a norm that overflowed would make every gradient 0 and count the step as applied.
  const canClip = clipNorm === undefined ? ratesAreFinite : and(ratesAreFinite, normIsFinite);
  const written = checkNewParameters ? { gradients, weights: moved.master, optimizer } : { gradients };
  // A verdict covers all of these.
  const finite = verdict === undefined ? and(canClip, equal(poisonOfUpdate(written), 0)) : canClip;
  // If the norm is finite, so are the gradients; a non-finite value then comes from a later computation.
  return { finite, finiteAtScale: or(finite, and(passed, normIsFinite)) };
}

type Counters = Pick<TrainingState, "iteration" | "drawn" | "skipped" | "consecutiveSkips" | "retries">;

/**
 * Decides between retry and skip. An overflow that depends on the scale is retried while the scaler still changes and
 * retries remain; otherwise the iteration is skipped. A scaler that no longer changes, because it is at its minimum
 * or has no state, would see the same overflow again.
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
      : // Always false, as a value of the graph: no step is both.
        and(skipped, finite);
  const advanceBy = (steps: number): Tensor => where(again, literal(0, "i32"), steps);
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

/** Whether any element differs between two trees of one structure, bool scalar. */
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
