/** Programs that read the weights of a run and change nothing; each is traced once per batch shape. */

import { foldIn, isTensor, mapTree, type Tensor, type TensorTree } from "@mp/graph";
import { cast } from "@mp/graph/ops";
import { autocast } from "../../cast/autocast.js";
import { f32Master } from "../../precision/master-weights.js";
import { recipeAt } from "../../quantize/recipes-by-step.js";
import { pairEncodes, scaleIn } from "../../quantize/scaling-state.js";
import type { StepDefinition } from "../definition/definition.js";
import type { LossContext } from "../definition/loss.js";
import { selectState, statePart } from "../definition/objective-state.js";
import { WEIGHT } from "../definition/outputs.js";
import type { TrainingState } from "../definition/state.js";
import {
  type Program,
  type ProgramResult,
  type TypeTree,
  traceProgram,
} from "../definition/traced-program.js";
import { type PredictFunction, underPolicy } from "../definition/user-function.js";
import { STREAMED } from "../metrics/metric-accumulator.js";
import type { TracedMetrics } from "../metrics/traced-metrics.js";
import { selectParameters, strictLoss } from "./forward.js";

/**
 * Traces a program that reads the weights or, with `average`, their moving average. The program gets a tree like the
 * parameters, however the master weights are stored.
 */
function readingProgram(
  definition: StepDefinition,
  { state, average }: ReadState,
  fed: Readonly<Record<string, TypeTree>>,
  body: (
    definition: StepDefinition,
    current: TrainingState,
    fed: Readonly<Record<string, TensorTree>>,
  ) => ProgramResult,
): Program {
  const types = statePart(definition, state, average ? "ema" : "master");
  return traceProgram({ state: types, fed }, (tree, trees) => {
    if (!average) return body(definition, selectState(definition, tree), trees);
    const averaged = { ...definition, precision: { ...definition.precision, masterWeights: f32Master() } };
    const { ema } = tree as TrainingState;
    return body(averaged, selectState(averaged, { ...(tree as TrainingState), master: ema }), trees);
  });
}

/** The state that a program reads. */
export interface ReadState {
  readonly state: TypeTree;
  /** Whether to read the weights' moving average. */
  readonly average: boolean;
}

/** Traces loss and metrics of a batch, with `training` false. A model state in `fed` replaces the run's. */
export function evaluateProgram(
  definition: StepDefinition,
  state: ReadState,
  fed: { readonly batch: TypeTree; readonly model?: TypeTree },
  metrics?: TracedMetrics,
): Program {
  return readingProgram(definition, state, fed, (read, current, trees) => {
    const model = trees["model"] ?? current.model;
    const { manifest, precision } = read;
    const parameters = selectParameters(read, current);
    const recipe = recipeAt(precision.recipe, 0);
    const lossOf = autocast(strictLoss(read, current, model, false), precision.policy, {
      manifest,
      recipe,
      key: read.key,
      encodes: recipe?.scaling === undefined ? [] : pairEncodes(scaleIn(current.recipe), parameters),
    });
    const [loss, parts] = lossOf(parameters, trees["batch"] as TensorTree);
    const weight = parts.weight === undefined ? {} : { [WEIGHT]: parts.weight };
    const outputs = { loss, ...weight, metrics: parts.metrics ?? {}, model: parts.modelState ?? {} };
    if (metrics === undefined) return { outputs };
    const batch = trees["batch"] as TensorTree;
    const streamed = readFunction(read, { ...current, model }, metrics.statistics, batch);
    return { outputs: { ...outputs, [STREAMED]: streamed } };
  });
}

/** Calls the user's function on the data under the casting policy. */
function readFunction(
  read: StepDefinition,
  { model, ...current }: TrainingState,
  fn: PredictFunction,
  data: TensorTree,
  what = "the batch",
): TensorTree {
  const context: LossContext<TensorTree> = {
    training: false,
    key: foldIn(read.key, "predict"),
    modelState: model,
    step: current.applied,
  };
  const run = underPolicy(fn, what, context, read);
  return run(selectParameters(read, { model, ...current }), data);
}

export function predictProgram(
  definition: StepDefinition,
  state: ReadState,
  data: TypeTree,
  predict: PredictFunction,
): Program {
  return readingProgram(definition, state, { data }, (read, current, trees) => {
    const result = readFunction(read, current, predict, trees["data"] as TensorTree, "the data");
    return { outputs: { result } };
  });
}

/** Traces a read of the parameters in f32, whatever their storage dtype; frozen parameters keep a given other dtype. */
export function parametersProgram(definition: StepDefinition, state: ReadState): Program {
  return readingProgram(definition, state, {}, (read, current) => {
    const weights = selectParameters(read, current);
    const inF32 = (weight: Tensor, path: string): Tensor =>
      read.keptAsGiven.has(path) ? weight : cast(weight, "f32");
    return { outputs: { parameters: mapTree(weights, isTensor, inF32) as TensorTree } };
  });
}
