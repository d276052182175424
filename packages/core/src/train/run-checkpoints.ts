import type { State } from "../contract/backend.js";
import { checkOptions } from "../options.js";
import type { CallbackStates } from "./callbacks/callback-states.js";
import type { Json } from "./callbacks/json.js";
import {
  checkpointInfo,
  checkpointOf,
  loadCheckpoint,
  type RunPosition,
  rankPartOf,
  type SaveOptions,
} from "./checkpoint/checkpoint.js";
import type { CheckpointSource, CheckpointStore } from "./checkpoint/file/place.js";
import { scalerRules } from "./checkpoint/scaler-rules.js";
import type { ProgramCache } from "./compile/program-cache.js";
import type { Definitions } from "./definition/definition.js";
import { numberIn } from "./definition/outputs.js";
import type { TypeTree } from "./definition/program.js";
import type { TrainingWarning } from "./definition/warning.js";
import type { Share } from "./ranks/share.js";
import type { Together } from "./ranks/together.js";
import type { GivenTypes } from "./run/initial-state.js";

export interface CheckpointedRun {
  /** The definitions of the whole run, where its update is divided among ranks. */
  readonly definitions: Definitions;
  /** The state as checkpoints hold it. */
  readonly state: State;
  readonly stateTypes: TypeTree;
  readonly given: GivenTypes;
  readonly programs: ProgramCache;
  readonly together: Together;
  readonly warn: (warning: TrainingWarning) => void;
}

/** Saves and loads the state of a run, one call at a time. */
export class RunCheckpoints {
  readonly #run: CheckpointedRun;
  readonly #callbackStates: CallbackStates;

  constructor(run: CheckpointedRun, callbackStates: CallbackStates) {
    this.#run = run;
    this.#callbackStates = callbackStates;
  }

  /** @param cursor where the run is in its data, if `options` say nothing else */
  save<T>(
    what: string,
    options: SaveOptions,
    cursor: Json,
    store: () => CheckpointStore<T>,
    share: Share<T>,
  ): Promise<T> {
    const { programs, state, together } = this.#run;
    const at = (): RunPosition => {
      checkOptions(what, options, { cursor: true }, "{ cursor }");
      return {
        cursor: options.cursor === undefined ? cursor : options.cursor,
        callbacks: this.#callbackStates.now(),
      };
    };
    const checkpoint = {
      isGathered: state !== programs.state,
      whole: () => checkpointOf(state, this.#info, at(), `${what}: cursor`),
      part: () => rankPartOf(programs.state, at(), `${what}: cursor`),
    };
    return together.store(what, checkpoint, store, share);
  }

  /** The position in the data. */
  async load(what: string, from: () => CheckpointSource): Promise<Json> {
    const { definitions, state, stateTypes, programs, together, warn } = this.#run;
    const { backend } = programs;
    const rules = scalerRules(backend, definitions, stateTypes);
    const source = together.source(what, from);
    const loaded = await loadCheckpoint(source, { backend, state }, this.#info, rules, warn, (check) =>
      together.all(`${what} checks`, check),
    );
    together.loaded(numberIn(await programs.state.read(["iteration"]), "iteration"));
    this.#callbackStates.replace(loaded.callbacks);
    return loaded.cursor;
  }

  get #info() {
    const { definitions, given, together } = this.#run;
    return checkpointInfo(definitions, given, together.place);
  }
}
