/** Programs that change the state of a run. Each is traced once per batch shape. */

import { mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import { setRandomCounter, withoutLines, withPhase } from "@mp/graph/internal";
import { add, literal, where } from "@mp/graph/ops";
import { initialRates } from "../../optim/optimizer.js";
import { delayedRecipe } from "../../quantize/recipes-by-step.js";
import type { StepDefinition } from "../definition/definition.js";
import { joinStates, nextState, selectState, statePart } from "../definition/objective-state.js";
import { WEIGHT } from "../definition/outputs.js";
import type { TrainingState } from "../definition/state.js";
import { type Program, type TypeTree, traceProgram } from "../definition/traced-program.js";
import { frozenInAll, splitFrozen, storeUntrained } from "../weights/frozen.js";
import {
  addWindow,
  emptyWindow,
  fullWindow,
  ownWindow,
  type WindowState,
  wholeWindow,
} from "./accumulate.js";
import { type Applied, applyGradients, verdictOn } from "./apply.js";
import { countUpdates } from "./count-updates.js";
import { type ForwardBackward, forwardBackward, selectParameters, type TraceReports } from "./forward.js";
import { selectMasters } from "./move-masters.js";
import { computeScale } from "./scale.js";
import type { Window } from "./window.js";

const SCALAR: TypeTree = { dtype: "f32", shape: [] };

/** Makes a run's initial state, with a window if `windowed`. Inputs: `parameters`, `model`. Output: `state`. */
export function initProgram(
  definitions: readonly StepDefinition[],
  parameters: TypeTree,
  model: TypeTree,
  windowed: boolean,
): Program {
  const untrained = frozenInAll(definitions);
  return traceProgram({ fed: { parameters, model } }, (_state, fed) => {
    const weights = fed["parameters"] as TensorTree;
    const states = definitions.map((definition) => {
      const { masterWeights, lossScaler, recipe } = definition.precision;
      const { pass, scaling } = delayedRecipe(recipe) ?? {};
      const master = masterWeights.init(splitFrozen(weights, definition.frozen).trained);
      const inF32 = selectMasters(definition, master);
      const { frozen } = splitFrozen(weights, untrained);
      const state: TrainingState = {
        master,
        optimizer: definition.optimizer.init(inF32),
        model: fed["model"] as TensorTree,
        ema: definition.ema === undefined ? {} : inF32,
        applied: literal(0, "i32"),
        recipe: (scaling && pass?.initialScaling(masterWeights.parameters(master), scaling)) ?? {},
        frozen: untrained.size === 0 ? {} : storeUntrained(frozen, masterWeights),
        scaler: lossScaler.init(),
        rates: initialRates(definition.optimizer),
        iteration: literal(0, "i32"),
        drawn: literal(0, "i32"),
        skipped: literal(0, "i32"),
        consecutiveSkips: literal(0, "i32"),
        retries: literal(0, "i32"),
      };
      return windowed ? { ...state, window: emptyWindow(definition, state, state.model) } : state;
    });
    return { outputs: { state: joinStates(definitions, states) } };
  });
}

/** Traces a program over the run's state and fed trees, for the run's engine. */
const traceStep = (
  definition: StepDefinition,
  state: TypeTree,
  fed: Readonly<Record<string, TypeTree>>,
  body: Parameters<typeof traceProgram>[1],
): Program => traceProgram({ state: statePart(definition, state), fed, manifest: definition.manifest }, body);

/** Traces a whole step as one graph, for a single batch and no reduction over processes. */
export function trainProgram(
  definition: StepDefinition,
  state: TypeTree,
  batch: TypeTree,
  reports?: TraceReports,
): Program {
  return traceStep(definition, state, { batch }, (tree, fed) => {
    setRandomCounter(selectState(definition, tree).drawn);
    const { pass, applied } = wholeStep(definition, tree, fed["batch"] as TensorTree, { reports });
    const outputs = { ...applied.outputs, metrics: pass.metrics };
    return { state: nextState(definition, tree, applied.state), outputs };
  });
}

/**
 * Repeats a step on one microbatch with another microbatch's random numbers, at any scale. Further inputs: `place` (i32
 * scalar), the distance from the current microbatch, negative for earlier ones; `scale` (f32 scalar). Further output:
 * `seen`, the results of `countUpdates`.
 */
export function revisitProgram(definition: StepDefinition, state: TypeTree, batch: TypeTree): Program {
  const place: TypeTree = { dtype: "i32", shape: [] };
  return traceStep(definition, state, { batch, place, scale: SCALAR }, (tree, fed) => {
    const current = selectState(definition, tree);
    setRandomCounter(add(current.drawn, fed["place"] as Tensor));
    const { precision, rank } = definition;
    const lossScaler = { ...precision.lossScaler, scale: () => fed["scale"] as Tensor };
    // Draws this rank's random numbers, but sums no losses of other ranks.
    const alone = rank === undefined ? undefined : { ...rank, size: 1 };
    const asked = { ...definition, accumulate: 1, rank: alone, precision: { ...precision, lossScaler } };
    const { pass, applied } = wholeStep(asked, tree, fed["batch"] as TensorTree, {
      windowOf: (pass, { model }) =>
        pass.weight === undefined ? wholeWindow(pass) : fullWindow(asked, ownWindow(pass, model), true),
    });
    const { updates, state: next } = applied;
    const step = { gradients: pass.gradients, updates, master: current.master, next: next.master };
    const seen = withPhase("update", () => withoutLines(() => countUpdates(asked, step)));
    return { state: nextState(definition, tree, next), outputs: { ...applied.outputs, seen } };
  });
}

/**
 * One pass over a microbatch. Further input: `scale`. Outputs: `weights` in storage dtype, `gradients` in f32; with
 * reports also the `loss`, so that the whole forward pass runs.
 */
export function gradientsProgram(
  definition: StepDefinition,
  state: TypeTree,
  batch: TypeTree,
  reports?: TraceReports,
): Program {
  return traceStep(definition, state, { batch, scale: SCALAR }, (tree, fed) => {
    const current = selectState(definition, tree);
    setRandomCounter(current.drawn);
    const pass = forwardBackward(definition, current, {
      model: current.model,
      batch: fed["batch"] as TensorTree,
      scale: fed["scale"] as Tensor,
      reports,
    });
    const outputs = { weights: selectParameters(definition, current), gradients: pass.gradients };
    return { outputs: reports === undefined ? outputs : { ...outputs, loss: pass.loss } };
  });
}

interface WholeStepOptions {
  readonly reports?: TraceReports | undefined;
  /** Makes the window of the pass; default `wholeWindow`. A diagnosis excludes a microbatch of weight 0 here. */
  readonly windowOf?: (pass: ForwardBackward, before: TrainingState) => Window;
}

function wholeStep(
  definition: StepDefinition,
  tree: TensorTree,
  batch: TensorTree,
  { reports, windowOf = wholeWindow }: WholeStepOptions = {},
): { readonly pass: ForwardBackward; readonly applied: Applied } {
  const state = selectState(definition, tree);
  const scale = computeScale(definition, state);
  const pass = forwardBackward(definition, state, { model: state.model, batch, scale, reports });
  const window = withPhase("update", () => windowOf(pass, state));
  return { pass, applied: applyGradients(definition, state, window, reports) };
}

type WindowedState = TrainingState & { readonly window: WindowState };

/**
 * Adds one microbatch to the accumulation window, in state slots `window/…`. If a step has only one
 * microbatch, it replaces the window. This saves two passes over all gradients.
 */
export function accumulateProgram(
  definition: StepDefinition,
  state: TypeTree,
  batch: TypeTree,
  reports?: TraceReports,
): Program {
  return traceStep(definition, state, { batch }, (tree, fed) => {
    const { window, ...rest } = selectState<WindowedState>(definition, tree);
    const isOnly = definition.accumulate === 1;
    setRandomCounter(isOnly ? rest.drawn : add(rest.drawn, window.micro));
    const scale = computeScale(definition, rest);
    const model = isOnly ? rest.model : window.model;
    const pass = forwardBackward(definition, rest, {
      model,
      batch: fed["batch"] as TensorTree,
      scale,
      reports,
    });
    const next = withPhase("update", () => {
      const own = ownWindow(pass, model);
      return isOnly ? { ...window, ...own } : addWindow(window, own);
    });
    const weight = pass.weight === undefined ? {} : { [WEIGHT]: pass.weight };
    return {
      state: nextState(definition, tree, { window: next }),
      outputs: { ...weight, metrics: pass.metrics },
    };
  });
}

/**
 * Applies the accumulation window, reduced over processes, and empties it if a step has several microbatches. Further
 * input if each rank checks its part of the update: `verdict` (f32 scalar), the sum over ranks.
 */
export function applyProgram(
  definition: StepDefinition,
  state: TypeTree,
  isWeighted: boolean,
  reports?: TraceReports,
): Program {
  const fed = definition.shard?.isJudged === true ? { verdict: SCALAR } : {};
  return traceProgram({ state: statePart(definition, state), fed }, (tree, { verdict }) => {
    const { window, ...rest } = selectState<WindowedState>(definition, tree);
    setRandomCounter(rest.drawn);
    const full = withPhase("update", () => fullWindow(definition, window, isWeighted));
    const divided = verdict as Tensor | undefined;
    const { state: next, outputs } = applyGradients(definition, rest, full, reports, divided);
    if (definition.accumulate === 1) return { state: nextState(definition, tree, next), outputs };
    const empty = withPhase("update", () => {
      const model = mapTensors(
        (after, before) => where(outputs.applied, after, before),
        window.model,
        rest.model,
      );
      return emptyWindow(definition, rest, model);
    });
    return { state: nextState(definition, tree, { ...next, window: empty }), outputs };
  });
}

/** Computes this rank's verdict on its part of the update: whether the part is finite. Output: `verdict`. */
export function verdictProgram(definition: StepDefinition, state: TypeTree, isWeighted: boolean): Program {
  return traceProgram({ state: statePart(definition, state) }, (tree) => {
    const { window, ...rest } = selectState<WindowedState>(definition, tree);
    setRandomCounter(rest.drawn);
    return { outputs: { verdict: verdictOn(definition, rest, fullWindow(definition, window, isWeighted)) } };
  });
}

/** The scale that follows from a scaler's state. Input: `scaler`. */
export function scaleOfScalerProgram(definition: StepDefinition, scaler: TypeTree): Program {
  return traceProgram({ fed: { scaler } }, (_state, fed) => ({
    outputs: { scale: computeScale(definition, { scaler: fed["scaler"] as TensorTree }) },
  }));
}

/** The scale that the next step will use. */
export function scaleProgram(definition: StepDefinition, state: TypeTree): Program {
  return traceProgram({ state: statePart(definition, state) }, (tree) => ({
    outputs: { scale: computeScale(definition, selectState(definition, tree)) },
  }));
}
