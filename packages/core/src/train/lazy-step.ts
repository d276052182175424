import { MpError } from "../errors.js";
import { checkOptions } from "../options.js";
import type { TrainingData } from "./data-source.js";
import { feed, feedPlaceOf } from "./feed.js";
import { FEEDING, type FeedingOptions, type FeedingRun, isGivenUp } from "./fit.js";
import type { StepResult } from "./step-result.js";

/** Further steps for which a step's numbers can be asked for. */
const KEPT_STEPS = 8;

/** A step that has been started. Nothing waits for its numbers unless they are asked for. */
export interface LazyStep<K extends string = string> {
  /** Passes over the data before this one. */
  readonly epoch: number;
  /** Resolves when the step is done. @throws MP_DISPOSED once 8 further steps have been started */
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
 * Steps through the data and hands each step out as it starts: what the loop's body and the data's `next` do, they do
 * beside it. The next step starts when the one before has ended well.
 */
export async function* lazySteps<T>(
  run: FeedingRun,
  data: TrainingData<T>,
  options: FeedingOptions,
): AsyncGenerator<LazyStep, undefined> {
  checkOptions("steps", options, FEEDING, '{ partial: "keep" }');
  const { partial = "drop", signal } = options;
  const { accumulate, warn, take } = run;
  const start = feedPlaceOf(options.cursor === undefined ? await run.cursor() : options.cursor);
  const windows = feed(data, { accumulate, warn, take, start, passes: start.pass + 1, partial });
  const kept: StartedStep[] = [];
  let running: Promise<StepResult> | undefined;
  const ended = async (): Promise<void> => {
    await running?.catch((error: unknown) => {
      if (!isGivenUp(error, signal)) throw error;
    });
  };
  try {
    for await (const { batches, cursor, pass } of windows) {
      await ended();
      if (batches.length === 0) {
        run.moveTo(cursor);
        continue;
      }
      if (signal?.aborted === true) return;
      running = run.step(batches, cursor);
      // Whoever asks for the numbers, or the next step, sees the failure.
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
