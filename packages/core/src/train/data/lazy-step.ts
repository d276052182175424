import { MpError } from "../../errors.js";
import { checkOptions } from "../../options.js";
import type { StepResult } from "../step/result.js";
import { feed, feedPlaceOf } from "./feed.js";
import { FEEDING, type FeedingOptions, type FeedingRun, isAborted, isGivenUp } from "./fit.js";
import type { TrainingData } from "./source.js";

/** Number of later steps during which a step's results are available. */
const KEPT_STEPS = 8;

/** A step that has been started. Training does not wait for its results unless you ask for them. */
export interface LazyStep<K extends string = string> {
  /** Passes over the data before this one. */
  readonly epoch: number;
  /** Resolves when the step is done. @throws MP_DISPOSED once 8 later steps have been started */
  result(): Promise<StepResult<K>>;
}

class StartedStep implements LazyStep {
  readonly epoch: number;
  #result: Promise<StepResult> | undefined;

  constructor(epoch: number, result: Promise<StepResult>) {
    this.epoch = epoch;
    this.#result = result;
  }

  async result(): Promise<StepResult> {
    if (this.#result !== undefined) return this.#result;
    throw new MpError(
      "MP_DISPOSED",
      `steps: the numbers of a step are kept for ${KEPT_STEPS} further steps; ask for them earlier, or await result() in the loop`,
    );
  }

  drop(): void {
    this.#result = undefined;
  }
}

/**
 * Trains on the data and yields each step when it starts, so the loop's body and the data's `next` run concurrently
 * with it. The next step starts when the previous one has succeeded.
 */
export async function* lazySteps<T>(
  run: FeedingRun,
  data: TrainingData<T>,
  options: FeedingOptions,
): AsyncGenerator<LazyStep, undefined> {
  checkOptions("steps", options, FEEDING, '{ partial: "keep" }');
  const { partial = "drop" } = options;
  const { accumulate, warn, take } = run;
  const signals = [options.signal, run.signal];
  const start = feedPlaceOf(options.cursor === undefined ? await run.cursor() : options.cursor);
  const windows = feed(data, { accumulate, warn, take, start, passes: start.pass + 1, partial });
  const kept: StartedStep[] = [];
  let running: Promise<StepResult> | undefined;
  const ended = async (): Promise<void> => {
    await running?.catch((error: unknown) => {
      if (!isGivenUp(error, run.signal)) throw error;
    });
  };
  try {
    for await (const { batches, cursor, pass } of windows) {
      await ended();
      if (batches.length === 0) {
        run.moveTo(cursor);
        continue;
      }
      if (isAborted(signals)) return;
      running = run.step(batches, cursor);
      // If you ask for the results or the next step, you get the failure.
      running.catch(() => undefined);
      const step = new StartedStep(pass, running);
      kept.push(step);
      if (kept.length > KEPT_STEPS + 1) kept.shift()?.drop();
      yield step;
    }
  } finally {
    await ended();
  }
}
