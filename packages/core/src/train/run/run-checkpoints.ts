import type { State } from "@mp/graph";
import { checkOptions } from "@mp/graph/internal";
import type { Json } from "../callbacks/json.js";
import {
  checkpointInfo,
  loadCheckpoint,
  type RunPosition,
  readCheckpoint,
  readRankPart,
  type SaveOptions,
} from "../checkpoint/checkpoint.js";
import type { CheckpointSource, CheckpointTarget } from "../checkpoint/file/place.js";
import { scalerRules } from "../checkpoint/scaler-rules.js";
import type { CompiledPrograms } from "../compile/compiled-programs.js";
import type { Definitions } from "../definition/definition.js";
import { numberIn } from "../definition/outputs.js";
import type { SlotGroupName } from "../definition/state.js";
import type { TypeTree } from "../definition/traced-program.js";
import type { TrainingWarning } from "../definition/warning.js";
import type { GivenTypes } from "../objective/initial-state.js";
import type { Collective } from "../ranks/collective.js";
import type { RunSteps } from "./run-steps.js";

export interface CheckpointedRun {
  /** Definitions of the run without sharding. */
  readonly definitions: Definitions;
  /** The state in the form that checkpoints hold. */
  readonly state: State;
  readonly stateTypes: TypeTree;
  readonly given: GivenTypes;
  readonly programs: CompiledPrograms;
  readonly collective: Collective;
  readonly warn: (warning: TrainingWarning) => void;
}

/** Saves and loads the state of a run, one call at a time. */
export class RunCheckpoints {
  readonly #run: CheckpointedRun;
  readonly #steps: RunSteps;

  constructor(run: CheckpointedRun, steps: RunSteps) {
    this.#run = run;
    this.#steps = steps;
  }

  save<T>(what: string, options: SaveOptions, target: CheckpointTarget<T>): Promise<T> {
    const { programs, state, collective } = this.#run;
    const { position, callbackStates } = this.#steps;
    const at = (): RunPosition => {
      checkOptions(what, options, { cursor: true }, "{ cursor }");
      return {
        cursor: options.cursor === undefined ? position : options.cursor,
        callbacks: callbackStates.now(),
      };
    };
    const checkpoint = {
      isGathered: state !== programs.state,
      whole: () => readCheckpoint(state, this.#info, at(), `${what}: cursor`),
      part: () => readRankPart(programs.state, at(), `${what}: cursor`),
    };
    return collective.store(what, checkpoint, target);
  }

  /** Loads a checkpoint and returns its position in the data. */
  async load(what: string, from: CheckpointSource): Promise<Json> {
    const { programs, collective } = this.#run;
    const loaded = await this.#read(what, from);
    await this.#steps.refresh();
    const iteration = numberIn(await programs.state.read(["iteration"]), "iteration");
    collective.loaded(iteration);
    this.#steps.callbackStates.replace(loaded.callbacks, iteration);
    this.#steps.moveTo(loaded.cursor);
    return loaded.cursor;
  }

  /** Loads nothing but the weights, their average and the model state. */
  async loadWeights(from: CheckpointSource): Promise<void> {
    await this.#read("loadWeights", from, ["master", "ema", "model", "window"]);
  }

  #read(what: string, from: CheckpointSource, groups?: readonly SlotGroupName[]): Promise<RunPosition> {
    const { definitions, state, stateTypes, programs, collective, warn } = this.#run;
    const { backend } = programs;
    const rules = scalerRules(backend, definitions, stateTypes);
    const source = collective.source(what, from);
    const all = <T>(check: () => Promise<T>): Promise<T> => collective.all(`${what} checks`, check);
    return loadCheckpoint(source, { backend, state }, this.#info, rules, warn, { all, groups });
  }

  get #info() {
    const { definitions, given, collective } = this.#run;
    return checkpointInfo(definitions, given, collective.place);
  }
}
