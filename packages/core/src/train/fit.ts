import { checkPath } from "../checkpoint/check-path.js";
import { MpError } from "../errors.js";
import { checkOptions, type OptionNames } from "../options.js";
import { shown } from "../shown.js";
import type { FedBatch } from "./batch.js";
import type { TrainingData } from "./data-source.js";
import { feed, feedPlaceOf } from "./feed.js";
import type { Json } from "./json.js";
import type { StepResult } from "./step-result.js";
import type { TrainingWarning } from "./warning.js";

export interface FeedingOptions {
  /**
   * The last batch of a pass, where it is smaller than the others: left out with one warning (default), or trained
   * on, which compiles the step once more.
   */
  readonly partial?: "drop" | "keep";
  /** Ends it after the step under way; where it is the trainer's too, between two microbatches of that step. */
  readonly signal?: AbortSignal;
  /** Where to start instead of where the run's state stands: null for the beginning, or a cursor of the data's. */
  readonly cursor?: Json;
}

export interface FitOptions<K extends string = string, B = unknown> extends FeedingOptions {
  /** Ends at this iteration, counted from the very start of the run: a resumed run stops where it would have. */
  readonly steps?: number;
  /** Passes over the data, from the very start of the run; default as many as `steps` takes, or the pass under way. */
  readonly epochs?: number;
  /** Called after each step and awaited; may save, evaluate, predict or replay. What it throws ends the fit. */
  readonly onStep?: (step: FitStep<K, B>) => void | Promise<void>;
  /** Writes a checkpoint at every so many iterations (default 1000) and at the end, also when the signal ends it. */
  readonly save?: { readonly path: string; readonly every?: number };
}

/** The names of `FeedingOptions`. */
export const FEEDING: OptionNames<FeedingOptions> = { partial: true, signal: true, cursor: true };
const FIT: OptionNames<FitOptions> = { ...FEEDING, steps: true, epochs: true, onStep: true, save: true };

export interface FitStep<K extends string = string, B = unknown> extends StepResult<K> {
  /** Iterations made since the start of the run, this one included. */
  readonly step: number;
  /** Passes over the data before this one. */
  readonly epoch: number;
  /** What the step was made of, one batch unless the trainer accumulates: what `replay` takes. */
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
  /** Takes a batch apart. */
  take(batch: unknown): FedBatch;
  iteration(): Promise<number>;
  /** The place that the run's state stands at, once the calls before this one are done. */
  cursor(): Promise<Json>;
  step(batches: readonly FedBatch[], cursor: Json): Promise<StepResult>;
  /** Takes note of a place between steps. */
  moveTo(cursor: Json): void;
  save(path: string): Promise<void>;
  readonly warn: (warning: TrainingWarning) => void;
}

const SAVE_EVERY = 1000;

/** Steps through the data from the place where the run's state stands. */
export async function fit<T>(
  run: FeedingRun,
  data: TrainingData<T>,
  options: FitOptions<string, T>,
): Promise<FitResult> {
  checkOptions("fit", options, FIT, "{ steps: 1000 }");
  const { steps = Number.POSITIVE_INFINITY, save, signal } = options;
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
    while (step < steps && signal?.aborted !== true) {
      const next = await windows.next();
      if (next.done === true) break;
      const { batches, sources, cursor, pass } = next.value;
      if (batches.length === 0) {
        run.moveTo(cursor);
        continue;
      }
      const result = await run.step(batches, cursor).catch((error: unknown) => {
        if (isGivenUp(error, signal)) return undefined;
        throw error;
      });
      if (result === undefined) break;
      step++;
      await options.onStep?.({ ...result, step, epoch: pass, batches: sources });
      if (save !== undefined && step % every === 0) await saveNow(save.path);
    }
    if (signal?.aborted === true) ended = "aborted";
    else if (step >= steps) ended = "steps";
  } finally {
    await windows.return(undefined);
  }
  if (save !== undefined && step > saved) await saveNow(save.path);
  if (start >= steps || place.pass >= passes) warn(nothingToDo(options, start, place.pass));
  return { steps: step, made: step - start, ended };
}

/** Whether a step was not made because the signal is the trainer's too, which gave its window up. */
export function isGivenUp(error: unknown, signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && error === signal.reason;
}

/** A loop of calls that each ask for one epoch trains in the first alone: say so, and what to ask for. */
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
