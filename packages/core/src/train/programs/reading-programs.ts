/** Programs that read the weights of a run and change nothing; each is traced once per batch shape. */

import { foldIn, isTensor, mapTree, type Tensor, type TensorTree } from "@mp/graph";
import { cast } from "@mp/graph/ops";
import { autocast } from "../../cast/autocast.js";
import { f32Master } from "../../precision/master-weights.js";
import type { StepDefinition } from "../definition/definition.js";
import type { LossContext } from "../definition/loss.js";
import { selectState, statePart } from "../definition/objective-state.js";
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

/** Loss and metrics of a batch with `training` false, from the fed model state if there is one. Changes nothing. */
export function evaluateProgram(
  definition: StepDefinition,
  state: ReadState,
  fed: { readonly batch: TypeTree; readonly model?: TypeTree },
  metrics?: TracedMetrics,
): Program {
  return readingProgram(definition, state, fed, (read, current, trees) => {
    const model = trees["model"] ?? current.model;
    const lossOf = autocast(strictLoss(read, current, model, false), read.precision.policy, {
      manifest: read.manifest,
    });
    const [loss, parts] = lossOf(selectParameters(read, current), trees["batch"] as TensorTree);
    const outputs = { loss, metrics: parts.metrics ?? {}, model: parts.modelState ?? {} };
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
  const run = underPolicy(fn, what, context, { policy: read.precision.policy, manifest: read.manifest });
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

/** The parameters in f32, whatever their storage dtype; frozen ones given in another dtype keep it. */
export function parametersProgram(definition: StepDefinition, state: ReadState): Program {
  return readingProgram(definition, state, {}, (read, current) => {
    const weights = selectParameters(read, current);
    const inF32 = (weight: Tensor, path: string): Tensor =>
      read.keptAsGiven.has(path) ? weight : cast(weight, "f32");
    return { outputs: { parameters: mapTree(weights, isTensor, inF32) as TensorTree } };
  });
}
