import { MpError } from "@mp/graph";
import type { CheckpointSource, CheckpointTarget } from "../checkpoint/file/place.js";
import type { Outputs } from "../definition/outputs.js";
import { ALONE, type RankPlace } from "../definition/rank-place.js";
import { type AllReduce, hookReduction, type WindowReduction } from "../objective/window.js";
import type { End, Facts } from "./header.js";
import type { RankCheckpoint } from "./rank-checkpoint.js";
import type { startFacts } from "./start-facts.js";

/** Everything that a run does together with the other processes of its job; one that is alone does it by itself. */
export interface Collective {
  readonly place: RankPlace;
  /** Whether a step's gradients are those of several processes. */
  readonly isReduced: boolean;
  /** Combines windows of several processes into one, for one objective. */
  reduction(): WindowReduction | undefined;
  /** Checks that all start alike. */
  starts(...given: Parameters<typeof startFacts>): Promise<void>;
  /**
   * Whether all processes make the next step, with equal facts; false if training ends in one. Undefined for a single
   * process, whose steps then await no promise for it.
   */
  makesStep?(facts: () => Promise<Facts>, signal: AbortSignal | undefined): Promise<boolean>;
  /** A call of `fit` or `steps` begins. */
  begins(): void;
  /** Ends a pass in all processes; false if training ends in one. */
  passes(pass: number): Promise<boolean>;
  /** Tells how this process ends, and returns how all do. */
  endsBy(end: End): Promise<End>;
  /** Tells the others of a failure. */
  tell(error: unknown): Promise<void>;
  /** Settable rates by slot, which are the same in all. */
  ratesSet(rates: Outputs): void;
  store<T>(what: string, checkpoint: RankCheckpoint, target: CheckpointTarget<T>): Promise<T>;
  source(what: string, source: CheckpointSource): CheckpointSource;
  /** Runs it in all processes; if it fails in one, none continues. */
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

/** Why none of the processes makes a step: the reason of this one's signal, or that of another ended training. */
export function noStep(signal: AbortSignal | undefined): unknown {
  return signal?.aborted === true
    ? signal.reason
    : new MpError("MP_RANK_MISMATCH", "step: another rank ended training, so no rank makes this step");
}
