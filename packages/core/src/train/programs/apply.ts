import { foldIn, mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import { poisonOf, tensorsOf, withoutLines, withPhase } from "@mp/graph/internal";
import { add, and, cast, equal, greater, literal, mul, not, or, reduceSum, where } from "@mp/graph/ops";
import { checkUpdate } from "../../optim/check-update.js";
import { computeRates } from "../../optim/optimizer.js";
import { recipeAt } from "../../quantize/recipes-by-step.js";
import type { StepDefinition } from "../definition/definition.js";
import { ownKey } from "../definition/objective-state.js";
import type { TrainingState } from "../definition/state.js";
import { nextAverage } from "../weights/average.js";
import { sharesBelowRange } from "../weights/below-range.js";
import { poisonOfUpdate } from "./finite/poison-of-update.js";
import type { TraceReports } from "./forward.js";
import { moveMasters, selectMasters } from "./move-masters.js";
import { computeScale, isUsable } from "./scale.js";
import { divideBy, unscale } from "./unscale.js";
import type { Window } from "./window.js";

export interface Applied {
  readonly state: TrainingState;
  /** The optimizer's updates, which are added to the master weights. */
  readonly updates: TensorTree;
  readonly outputs: {
    readonly loss: Tensor;
    /** Total weight, if the loss returns weights. */
    readonly weight?: Tensor;
    readonly applied: Tensor;
    readonly scale: Tensor;
    readonly gradNorm: Tensor;
    /** Computed learning rates by group; constant rates are left out. */
    readonly rates: Readonly<Record<string, Tensor>>;
    /** Fraction of elements below the normal range, for each f16 or 8-bit tensor of the optimizer's state. */
    readonly belowRange: TensorTree;
    readonly again: Tensor;
    readonly consecutiveSkips: Tensor;
  };
}

/** Whether a floating scalar is neither infinite nor NaN, bool scalar. */
const isFiniteScalar = (x: Tensor): Tensor => equal(mul(x, 0), 0);

/**
 * Unscale → clip → optimizer on masters → finite check → scaler and counters: a step after its backward pass.
 * @param verdict f32 sum of the ranks' verdicts, 0 or NaN, if ranks check their parts of the update
 */
export function applyGradients(
  definition: StepDefinition,
  state: TrainingState,
  window: Window,
  reports?: TraceReports,
  verdict?: Tensor,
): Applied {
  return withPhase("update", () => withoutLines(() => apply(definition, state, window, reports, verdict)));
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
function propose(
  definition: StepDefinition,
  state: TrainingState,
  window: Window,
  { warning }: TraceReports = {},
) {
  const { optimizer } = definition;
  const scale = computeScale(definition, state);
  const { gradients, own, gradNorm } = unscale(definition, window, scale);
  const key = foldIn(ownKey(definition), "optimizer");
  const warn = (message: string): void => warning?.({ type: "numerics", message });
  const context = { step: state.applied, settable: state.rates, key, warn };
  const update = optimizer.update(own, state.optimizer, selectMasters(definition, state.master), context);
  checkUpdate(optimizer.name, update, own);
  return {
    scale,
    gradNorm,
    gradients,
    own,
    updates: update.updates,
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
  reports: TraceReports | undefined,
  verdict: Tensor | undefined,
): Applied {
  const { ema, precision } = definition;
  const { parts, weight } = window;
  const proposal = propose(definition, state, window, reports);
  const { scale, gradNorm, moved, optimizer, context } = proposal;
  const { finite, finiteAtScale } = judge(definition, { window, proposal, verdict });
  // A step of weight 0 tells nothing about the scale.
  const counts = weight === undefined ? undefined : not(equal(weight, 0));
  const unlessEmpty = (next: Tensor, before: Tensor): Tensor =>
    counts === undefined ? next : where(counts, next, before);
  const updated = precision.lossScaler.update(state.scaler, finiteAtScale);
  const scaler = counts === undefined ? updated : mapTensors(unlessEmpty, updated, state.scaler);
  const applied = counts === undefined ? finite : and(finite, counts);
  const counters = count(definition, state, { scaler, finite: applied, finiteAtScale });
  const consecutiveSkips = unlessEmpty(counters.next.consecutiveSkips, state.consecutiveSkips);
  const recipe = recipeAt(precision.recipe, 0);
  return {
    state: {
      master: moved.master,
      optimizer,
      model: window.model,
      ema: ema === undefined ? state.ema : nextAverage(ema, state.ema, moved.weights, state.applied),
      applied: add(state.applied, 1),
      recipe: recipe?.pass.nextScaling(state.recipe, window.amax, recipe) ?? state.recipe,
      frozen: state.frozen,
      scaler,
      rates: state.rates,
      ...counters.next,
      consecutiveSkips,
    },
    updates: proposal.updates,
    outputs: {
      loss: divideBy(window.loss, parts.loss),
      ...(weight === undefined ? {} : { weight }),
      applied,
      scale,
      gradNorm,
      rates: computeRates(definition.optimizer, context),
      belowRange: sharesBelowRange(optimizer),
      again: counters.again,
      consecutiveSkips,
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
