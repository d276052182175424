import { checkPath } from "#checkpoint-files";
import { MpError } from "../../errors.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { shown } from "../../shown.js";
import type { StepResult } from "../step/result.js";
import type { TrainingWarning } from "../warning.js";
import type { FedBatch } from "./batch.js";
import { feed, feedPlaceOf } from "./feed.js";
import type { Json } from "./json.js";
import type { TrainingData } from "./source.js";

export interface FeedingOptions {
  /**
   * The last batch of a pass, if it is smaller than the others: `drop` (default) leaves it out with one warning, `keep`
   * trains on it, which compiles the step once more.
   */
  readonly partial?: "drop" | "keep";
  /**
   * Ends training after the current step. The trainer's own signal does so too, even between two microbatches of a
   * step.
   */
  readonly signal?: AbortSignal;
  /** Where to start instead of at the run's position: null for the beginning, or a cursor of the data. */
  readonly cursor?: Json;
}

export interface FitOptions<K extends string = string, B = unknown> extends FeedingOptions {
  /** Ends at this iteration, counted from the start of the run, so a resumed run stops at the same iteration. */
  readonly steps?: number;
  /** Passes over the data, counted from the start of the run; default as many as `steps` takes, or the current pass. */
  readonly epochs?: number;
  /** Called after each step and awaited; may save, evaluate, predict or replay. An error that it throws ends `fit`. */
  readonly onStep?: (step: FitStep<K, B>) => void | Promise<void>;
  /** Writes a checkpoint every `every` iterations (default 1000) and at the end, also when the signal ends training. */
  readonly save?: { readonly path: string; readonly every?: number };
}

/** The names of `FeedingOptions`. */
export const FEEDING: OptionNames<FeedingOptions> = { partial: true, signal: true, cursor: true };
const FIT: OptionNames<FitOptions> = { ...FEEDING, steps: true, epochs: true, onStep: true, save: true };

export interface FitStep<K extends string = string, B = unknown> extends StepResult<K> {
  /** Iterations since the start of the run, including this one. */
  readonly step: number;
  /** Passes over the data before this one. */
  readonly epoch: number;
  /** The batches of the step, as `replay` takes them; one unless the trainer accumulates. */
  readonly batches: readonly B[];
}

export interface FitResult {
  /** Iterations since the start of the run. */
  readonly steps: number;
  /** Those of them made by this call. */
  readonly made: number;
  readonly ended: "steps" | "epochs" | "aborted";
}

/** What feeding needs of a run. */
export interface FeedingRun {
  readonly accumulate: number;
  /** The trainer's signal, which ends feeding like the caller's. */
  readonly signal: AbortSignal | undefined;
  /** Flattens a batch. */
  take(batch: unknown): FedBatch;
  iteration(): Promise<number>;
  /** The position of the run's state, after earlier calls are done. */
  cursor(): Promise<Json>;
  step(batches: readonly FedBatch[], cursor: Json): Promise<StepResult>;
  /** Records a position between steps. */
  moveTo(cursor: Json): void;
  save(path: string): Promise<void>;
  readonly warn: (warning: TrainingWarning) => void;
}

const SAVE_EVERY = 1000;

/** Trains on the data from the position of the run's state. */
export async function fit<T>(
  run: FeedingRun,
  data: TrainingData<T>,
  options: FitOptions<string, T>,
): Promise<FitResult> {
  checkOptions("fit", options, FIT, "{ steps: 1000 }");
  const { steps = Number.POSITIVE_INFINITY, save } = options;
  const signals = [options.signal, run.signal];
  if (save !== undefined) {
    checkOptions("fit: save", save, { path: true, every: true }, '{ path: "run.safetensors" }');
  }
  const every = save?.every ?? SAVE_EVERY;
  if (save !== undefined) checkPath("fit: save.path", save.path);
  checkCounts({ steps: options.steps, epochs: options.epochs, "save.every": save?.every });
  const place = feedPlaceOf(options.cursor === undefined ? await run.cursor() : options.cursor);
  const passes = options.epochs ?? (options.steps === undefined ? place.pass + 1 : Number.POSITIVE_INFINITY);
  const start = await run.iteration();
  let step = start;
  let saved = start;
  const saveNow = async (path: string): Promise<void> => {
    await run.save(path);
    saved = step;
  };
  let ended: FitResult["ended"] = "epochs";
  const { partial = "drop" } = options;
  const { accumulate, warn, take } = run;
  const windows = feed(data, { accumulate, warn, take, start: place, passes, partial });
  try {
    while (step < steps && !isAborted(signals)) {
      const next = await windows.next();
      if (next.done === true) break;
      const { batches, sources, cursor, pass } = next.value;
      if (batches.length === 0) {
        run.moveTo(cursor);
        continue;
      }
      const result = await run.step(batches, cursor).catch((error: unknown) => {
        if (isGivenUp(error, run.signal)) return undefined;
        throw error;
      });
      if (result === undefined) break;
      step++;
      await options.onStep?.({ ...result, step, epoch: pass, batches: sources });
      if (save !== undefined && step % every === 0) await saveNow(save.path);
    }
    if (isAborted(signals)) ended = "aborted";
    else if (step >= steps) ended = "steps";
  } finally {
    await windows.return(undefined);
  }
  if (save !== undefined && step > saved) await saveNow(save.path);
  if (start >= steps || place.pass >= passes) warn(nothingToDo(options, start, place.pass));
  return { steps: step, made: step - start, ended };
}

export function isAborted(signals: readonly (AbortSignal | undefined)[]): boolean {
  return signals.some((signal) => signal?.aborted === true);
}

/** Whether a step was not made because the trainer's signal rejected it or aborted it unfinished. */
export function isGivenUp(error: unknown, signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && error === signal.reason;
}

/** In a loop of calls with `epochs: 1` only the first one trains; say so, and what to pass instead. */
function nothingToDo(
  { steps, epochs }: Pick<FitOptions, "steps" | "epochs">,
  iteration: number,
  passes: number,
): TrainingWarning {
  const isAtSteps = steps !== undefined && iteration >= steps;
  const asked = isAtSteps ? `steps: ${steps}` : `epochs: ${epochs}`;
  const done = isAtSteps ? `${iteration} steps` : `${passes} passes over the data`;
  const more = isAtSteps ? `steps: ${iteration + 1} or more` : `epochs: ${passes + 1}`;
  return {
    type: "data",
    message: `fit: made no step, since ${asked} counts from the start of the run, which has made ${done}; ask for ${more}, or for neither to make one more pass`,
    details: { iteration, passes },
  };
}

function checkCounts(counts: Readonly<Record<string, number | undefined>>): void {
  for (const [name, count] of Object.entries(counts)) {
    if (count === undefined || (Number.isSafeInteger(count) && count >= 1)) continue;
    throw new MpError("MP_INVALID_ARGUMENT", `fit: ${name} is an integer of 1 or more, got ${shown(count)}`);
  }
}
