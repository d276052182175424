import { MpError } from "@mp/graph";
import type { CheckpointSource, CheckpointTarget } from "../checkpoint/file/place.js";
import type { Outputs } from "../definition/outputs.js";
import { ALONE, type RankPlace } from "../definition/rank-place.js";
import { type AllReduce, hookReduction, type WindowReduction } from "../objective/window-reduction.js";
import type { End, Facts } from "./compare-headers.js";
import type { RankCheckpoint } from "./rank-checkpoint.js";
import type { startFacts } from "./start-facts.js";

/** Everything that a run does together with the other processes of its job; a single process does it alone. */
export interface Collective {
  readonly place: RankPlace;
  /** Whether the gradients of a step are combined from several processes. */
  readonly isReduced: boolean;
  /** Combines the windows of several processes, for one objective; undefined without a combination. */
  reduction(): WindowReduction | undefined;
  /** Checks that all processes start with equal options. */
  starts(...given: Parameters<typeof startFacts>): Promise<void>;
  /**
   * Whether all processes make the next step, with equal facts; false if training ends in one of them. A single process
   * gets undefined instead of a promise, so that its steps need not await one.
   */
  makesStep?(facts: () => Promise<Facts>, signal: AbortSignal | undefined): Promise<boolean>;
  /** Begins a call of `fit` or `steps`. */
  begins(): void;
  /** Ends a pass in all processes; false if training ends in one of them. */
  passes(pass: number): Promise<boolean>;
  /** Reports how training ends in this process, and returns how it ends in all. */
  endsBy(end: End): Promise<End>;
  /** Tells the other processes of a failure. */
  tell(error: unknown): Promise<void>;
  /** Records settable rates by slot, which must be the same in all processes. */
  ratesSet(rates: Outputs): void;
  store<T>(what: string, checkpoint: RankCheckpoint, target: CheckpointTarget<T>): Promise<T>;
  source(what: string, source: CheckpointSource): CheckpointSource;
  /** Runs `run` in all processes; if `run` fails in one process, none continues. */
  all<T>(what: string, run: () => Promise<T>): Promise<T>;
  /** Notes that all processes have loaded the state of this iteration. */
  loaded(iteration: number): void;
}

/** A run of one process, with the user's `allReduce` hook if there is one. */
export function alone(allReduce: AllReduce | undefined): Collective {
  const reduction = allReduce && hookReduction(allReduce);
  return {
    place: ALONE,
    isReduced: reduction !== undefined,
    reduction: () => reduction,
    starts: async () => undefined,
    begins: () => undefined,
    passes: async () => true,
    endsBy: async (end) => end,
    tell: async () => undefined,
    ratesSet: () => undefined,
    store: async (_what, checkpoint, target) => {
      target.check();
      return target.write(await checkpoint.whole());
    },
    source: (_what, source) => source,
    all: (_what, run) => run(),
    loaded: () => undefined,
  };
}

/** The error for a step that no process makes: this process's signal was aborted, or another process ended training. */
export function noStep(signal: AbortSignal | undefined): unknown {
  return signal?.aborted === true
    ? signal.reason
    : new MpError("MP_RANK_MISMATCH", "step: another rank ended training, so no rank makes this step");
}
