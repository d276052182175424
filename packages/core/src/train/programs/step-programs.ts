/** Programs that change the state of a run. Each is traced once per batch shape, closed only over its state. */

import { mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import { poisonOf, setRandomCounter, withPhase } from "@mp/graph/internal";
import { add, literal, where } from "@mp/graph/ops";
import { initialRates, zerosLike } from "../../optim/optimizer.js";
import type { StepDefinition } from "../definition/definition.js";
import { joinStates, nextState, selectState, statePart } from "../definition/objective-state.js";
import type { TrainingState } from "../definition/state.js";
import {
  type Program,
  type ProgramResult,
  type TypeTree,
  traceProgram,
} from "../definition/traced-program.js";
import { frozenInAll, splitFrozen, storeUntrained } from "../weights/frozen.js";
import { applyGradients, verdictOn } from "./apply.js";
import { forwardBackward, selectParameters, type TraceReports } from "./forward.js";
import { selectMasters } from "./masters.js";
import { computeScale } from "./scale.js";

const SCALAR: TypeTree = { dtype: "f32", shape: [] };

/** Makes the initial state of a run. Inputs: `parameters`, `model`. Output: `state`. */
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
      const { masterWeights, lossScaler } = definition.precision;
      const master = masterWeights.init(splitFrozen(weights, definition.frozen).trained);
      const inF32 = selectMasters(definition, master);
      const { frozen } = splitFrozen(weights, untrained);
      const state: TrainingState = {
        master,
        optimizer: definition.optimizer.init(inF32),
        model: fed["model"] as TensorTree,
        ema: definition.ema === undefined ? {} : inF32,
        applied: literal(0, "i32"),
        frozen: untrained.size === 0 ? {} : storeUntrained(frozen, masterWeights),
        scaler: lossScaler.init(),
        rates: initialRates(definition.optimizer),
        iteration: literal(0, "i32"),
        drawn: literal(0, "i32"),
        skipped: literal(0, "i32"),
        consecutiveSkips: literal(0, "i32"),
        retries: literal(0, "i32"),
      };
      return windowed ? { ...state, window: emptyWindow(definition, master, state.model) } : state;
    });
    return { outputs: { state: joinStates(definitions, states) } };
  });
}

/** Traces over the state of a run and fed trees, for the engine of the run. */
const traceStep = (
  definition: StepDefinition,
  state: TypeTree,
  fed: Readonly<Record<string, TypeTree>>,
  body: Parameters<typeof traceProgram>[1],
): Program => traceProgram({ state: statePart(definition, state), fed, manifest: definition.manifest }, body);

/** A whole step as one graph, for a single batch and no hook. */
export function trainProgram(
  definition: StepDefinition,
  state: TypeTree,
  batch: TypeTree,
  reports?: TraceReports,
): Program {
  return traceStep(definition, state, { batch }, (tree, fed) => {
    setRandomCounter(selectState(definition, tree).drawn);
    return wholeStep(definition, tree, fed["batch"] as TensorTree, reports);
  });
}

/**
 * Repeats a step on one microbatch with another microbatch's random numbers, at any scale. Further inputs: `place`
 * (i32 scalar), the distance from the current microbatch, negative for earlier ones; `scale` (f32 scalar).
 */
export function revisitProgram(definition: StepDefinition, state: TypeTree, batch: TypeTree): Program {
  const place: TypeTree = { dtype: "i32", shape: [] };
  return traceStep(definition, state, { batch, place, scale: SCALAR }, (tree, fed) => {
    setRandomCounter(add(selectState(definition, tree).drawn, fed["place"] as Tensor));
    const { precision, rank } = definition;
    const lossScaler = { ...precision.lossScaler, scale: () => fed["scale"] as Tensor };
    // Draws the numbers of this rank, but sums no losses of others.
    const alone = rank === undefined ? undefined : { ...rank, size: 1 };
    const asked = { ...definition, accumulate: 1, rank: alone, precision: { ...precision, lossScaler } };
    return wholeStep(asked, tree, fed["batch"] as TensorTree);
  });
}

/** One pass over a microbatch. Further input: `scale`. Outputs: `weights` in storage dtype, `gradients` in f32. */
export function gradientsProgram(definition: StepDefinition, state: TypeTree, batch: TypeTree): Program {
  return traceStep(definition, state, { batch, scale: SCALAR }, (tree, fed) => {
    const current = selectState(definition, tree);
    setRandomCounter(current.drawn);
    const pass = forwardBackward(definition, current, {
      model: current.model,
      batch: fed["batch"] as TensorTree,
      scale: fed["scale"] as Tensor,
    });
    return { outputs: { weights: selectParameters(definition, current), gradients: pass.gradients } };
  });
}

function wholeStep(
  definition: StepDefinition,
  tree: TensorTree,
  batch: TensorTree,
  reports?: TraceReports,
): ProgramResult {
  const state = selectState(definition, tree);
  const scale = computeScale(definition, state);
  const pass = forwardBackward(definition, state, { model: state.model, batch, scale, reports });
  const { state: next, outputs } = applyGradients(definition, state, { ...pass, poison: literal(0) });
  return { state: nextState(definition, tree, next), outputs: { ...outputs, metrics: pass.metrics } };
}

/** The sums of a window of microbatches; stored next to the training state between runs, never in a checkpoint. */
export type WindowState = {
  readonly gradients: TensorTree;
  readonly loss: Tensor;
  readonly model: TensorTree;
  /** NaN if a loss or model state was not finite, else 0. Gradients are checked once, at the end of the window. */
  readonly poison: Tensor;
  /** Number of microbatches accumulated, i32. */
  readonly micro: Tensor;
};

type WindowedState = TrainingState & { readonly window: WindowState };

function emptyWindow(definition: StepDefinition, master: TensorTree, model: TensorTree): WindowState {
  return {
    gradients: zerosLike(definition.precision.masterWeights.parameters(master)),
    loss: literal(0),
    model,
    poison: literal(0),
    micro: literal(0, "i32"),
  };
}

const addWindow = (window: WindowState, own: Omit<WindowState, "micro">): WindowState => ({
  gradients: mapTensors(add, window.gradients, own.gradients),
  loss: add(window.loss, own.loss),
  model: own.model,
  poison: add(window.poison, own.poison),
  micro: add(window.micro, 1),
});

/**
 * Adds one microbatch to the window, in state slots `window/…`. The only microbatch of a step instead replaces the
 * window's contents, which saves a pass over all gradients here and another to empty the window.
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
    const pass = forwardBackward(definition, rest, {
      model: isOnly ? rest.model : window.model,
      batch: fed["batch"] as TensorTree,
      scale,
      reports,
    });
    const next = withPhase("update", () => {
      const { gradients, loss, model } = pass;
      const own = { gradients, loss, model, poison: poisonOf({ loss, model }) };
      return isOnly ? { ...window, ...own } : addWindow(window, own);
    });
    return { state: nextState(definition, tree, { window: next }), outputs: { metrics: pass.metrics } };
  });
}

/**
 * Applies a full window, reduced over processes, and empties it if microbatches add to it. Further input if a divided
 * update is judged: `verdict` (f32 scalar), the sum over ranks.
 */
export function applyProgram(definition: StepDefinition, state: TypeTree): Program {
  const fed = definition.shard?.isJudged === true ? { verdict: SCALAR } : {};
  return traceProgram({ state: statePart(definition, state), fed }, (tree, { verdict }) => {
    const { window, ...rest } = selectState<WindowedState>(definition, tree);
    setRandomCounter(rest.drawn);
    const { state: next, outputs } = applyGradients(definition, rest, window, verdict as Tensor | undefined);
    if (definition.accumulate === 1) return { state: nextState(definition, tree, next), outputs };
    const empty = withPhase("update", () => {
      const model = mapTensors(
        (after, before) => where(outputs.applied, after, before),
        window.model,
        rest.model,
      );
      return emptyWindow(definition, rest.master, model);
    });
    return { state: nextState(definition, tree, { ...next, window: empty }), outputs };
  });
}

/** Computes this rank's verdict on its part of a divided update. Output: `verdict`. */
export function verdictProgram(definition: StepDefinition, state: TypeTree): Program {
  return traceProgram({ state: statePart(definition, state) }, (tree) => {
    const { window, ...rest } = selectState<WindowedState>(definition, tree);
    setRandomCounter(rest.drawn);
    return { outputs: { verdict: verdictOn(definition, rest, window) } };
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
