import {
  type Check,
  checks,
  type Defaulted,
  later,
  type OptionTable,
  type OptionValues,
  readOptions,
  withDefault,
} from "@mp/graph/internal";
import type { FlatBatch } from "../batch/batch.js";
import { signalPart } from "../batch/check-parts.js";
import type { FitEpoch, FitResult, FitStep, FitTraining } from "../callbacks/callback.js";
import type { CallbackStates } from "../callbacks/callback-states.js";
import type { Json } from "../callbacks/json.js";
import type { StepResult } from "../definition/result.js";
import type { TrainingWarning } from "../definition/warning.js";
import type { AnyEvaluateAllOptions } from "./evaluate-all.js";
import { type FeedPlace, feed, readCursor } from "./feed.js";
import type { TrainingData } from "./source.js";

export interface FeedingOptions {
  /**
   * What happens to the last batch of a pass if it is smaller than the first batch: `drop` (default) leaves it out with
   * one warning, `keep` trains on it, which compiles the step once more.
   */
  readonly partial?: "drop" | "keep";
  /** Ends training after the current step. The trainer's own signal does, too, even between two microbatches. */
  readonly signal?: AbortSignal;
  /** The position to start at, in place of the run's own: null for the beginning, or a cursor of the data. */
  readonly cursor?: Json;
}

type FeedingTable = Readonly<Record<"signal" | "cursor", Check>> & { readonly partial: Defaulted<"drop"> };

export const FEEDING: FeedingTable = {
  partial: withDefault("drop", checks.oneOf("drop", "keep")),
  signal: checks.optional(signalPart),
  // The data checks its own cursors.
  cursor: later,
} satisfies OptionTable<FeedingOptions>;

export type Feeding = OptionValues<FeedingOptions, FeedingTable>;

/** The part of a run that feeding needs. */
export interface FeedingRun {
  readonly accumulate: number;
  /** The trainer's signal, which ends feeding like the caller's signal. */
  readonly signal: AbortSignal | undefined;
  /** Flattens a batch. */
  take(batch: unknown, name?: string): FlatBatch;
  iteration(): Promise<number>;
  /** The position of the run's state after earlier calls. */
  cursor(): Promise<Json>;
  /** Makes a step; undefined if another rank ends training. */
  step(batches: readonly FlatBatch[], cursor: Json): Promise<StepResult | undefined>;
  /** Ends a pass on all ranks; false if another rank ends training. */
  passes(pass: number): Promise<boolean>;
  /** Reports how this rank ends, and returns how training ends on all ranks. */
  endsBy(end: FitResult["ended"]): Promise<FitResult["ended"]>;
  /** Sets the run's position in the data, between steps. */
  moveTo(cursor: Json): void;
  /** Evaluates a data set; with objectives, the result is by objective. */
  evaluateAll<T>(data: TrainingData<T>, options: AnyEvaluateAllOptions<T>): Promise<unknown>;
  /** The part of the run that callbacks may use. */
  readonly training: FitTraining;
  readonly callbackStates: CallbackStates;
  /** Yields to the event loop if it has waited long enough; otherwise returns undefined. */
  readonly breathe: () => Promise<void> | undefined;
  readonly warn: (warning: TrainingWarning) => void;
}

/** The position at which a call starts. */
export interface Start {
  readonly place: FeedPlace;
  /** Iterations before the call. */
  readonly step: number;
}

/** A step that was made, or the end of a pass. */
export type StepOrEpoch<T> = { readonly step: FitStep<string, T> } | { readonly epoch: FitEpoch };

export async function findStart(run: FeedingRun, { cursor }: Feeding): Promise<Start> {
  return {
    place: readCursor(cursor === undefined ? await run.cursor() : cursor),
    step: await run.iteration(),
  };
}

/** Whether one of the two signals has ended training. */
export function isAborted(run: FeedingRun, { signal }: Feeding): boolean {
  return run.signal?.aborted === true || signal?.aborted === true;
}

/**
 * Makes a step each time the caller asks for the next, and moves the run's position along. Ends after pass
 * number `passes`, counted from the start of the run, or at a signal.
 */
export async function* makeSteps<T>(
  run: FeedingRun,
  data: TrainingData<T>,
  options: Feeding,
  { start, passes }: { readonly start: Start; readonly passes: number },
): AsyncGenerator<StepOrEpoch<T>, undefined> {
  const { accumulate, warn, take, breathe } = run;
  const isOver = (): boolean => isAborted(run, options);
  const fed = feed(data, {
    accumulate,
    warn,
    take,
    breathe,
    isAborted: isOver,
    start: start.place,
    passes,
    partial: options.partial,
  });
  let { step } = start;
  for await (const { batches, sources, cursor, pass } of fed) {
    if (batches.length === 0) {
      if (!(await run.passes(pass))) return;
      run.moveTo(cursor);
      yield { epoch: { epoch: pass, step } };
      continue;
    }
    const startedAt = performance.now();
    const result = await run.step(batches, cursor).catch(ignoreAbort(run.signal));
    if (result === undefined) return;
    step++;
    const milliseconds = performance.now() - startedAt;
    yield { step: { ...result, step, epoch: pass, batches: sources, milliseconds } };
  }
}

/** Ignores the error of a step that the trainer's signal rejected or aborted unfinished: the step was not made. */
function ignoreAbort(signal: AbortSignal | undefined): (error: unknown) => undefined {
  return (error) => {
    if (signal?.aborted === true && error === signal.reason) return undefined;
    throw error;
  };
}

/** Makes the steps of the current pass, or of the next pass if it is over, and yields each when it is done. */
export async function* stepsOfPass<T>(
  run: FeedingRun,
  data: TrainingData<T>,
  options: FeedingOptions,
): AsyncGenerator<FitStep<string, T>, undefined> {
  const feeding = readOptions("steps", options, FEEDING, { example: '{ partial: "keep" }' });
  const start = await findStart(run, feeding);
  // The way training ends if the caller breaks out of the loop.
  let end: FitResult["ended"] | undefined = "stopped";
  try {
    for await (const made of makeSteps(run, data, feeding, { start, passes: start.place.pass + 1 })) {
      if ("step" in made) yield made.step;
    }
    end = isAborted(run, feeding) ? "aborted" : "epochs";
  } catch (error) {
    end = undefined;
    throw error;
  } finally {
    if (end !== undefined) await run.endsBy(end);
  }
}
