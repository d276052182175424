import {
  type Check,
  checks,
  invalid,
  later,
  type OptionTable,
  type OptionValues,
  readOptions,
  withDefault,
} from "@mp/graph/internal";
import { checkPath, prepareFile } from "#checkpoint-files";
import {
  checkCallbacks,
  type FitCallback,
  type FitEpoch,
  type FitResult,
  type FitStart,
  type FitStep,
  type FitValidation,
  settle,
  stops,
  tellEnd,
} from "../callbacks/callback.js";
import type { TrainingWarning } from "../definition/warning.js";
import type { MetricsFunction } from "../metrics/traced-metrics.js";
import type { EvaluateAllOptions } from "./evaluate-all.js";
import {
  FEEDING,
  type FeedingOptions,
  type FeedingRun,
  findStart,
  isAborted,
  makeSteps,
  type Start,
  type StepOrEpoch,
} from "./made-steps.js";
import type { TrainingData } from "./source.js";

export interface FitOptions<
  K extends string = string,
  B = unknown,
  S = FitStep<K, B>,
  V = FitValidation<K>,
  J = MetricsFunction,
> extends FeedingOptions {
  /** The iteration to end at. It counts from the start of the run, so that a resumed run ends at the same iteration. */
  readonly steps?: number;
  /** Passes over the data, counted from the start of the run. Default: up to `steps`, else the current pass. */
  readonly epochs?: number;
  /** Called and awaited after each step, before the callbacks. A shorthand for a callback with nothing but `onStep`. */
  readonly onStep?: FitCallback<K, B, S>["onStep"];
  /** Called at the start, after each step, each validation and each pass, and at the end. */
  readonly callbacks?: readonly FitCallback<K, B, S, V>[];
  /**
   * Evaluates the whole of `data` with `evaluateAll` for `onValidation`: at the end of each pass, or after every
   * `every` iterations. An abort signal is heeded only afterwards, so that a resumed run has seen the same evaluations.
   */
  readonly validation?: Validation<B, J>;
  /** Writes a checkpoint every `every` iterations (default 1000) and at the end, also when the signal ends training. */
  readonly save?: { readonly path: string; readonly every?: number };
}

/** The options without the static types of the results. */
export type AnyFitOptions<T> = FitOptions<string, T, never, never, unknown>;

/** The data to evaluate during training, and when, with options of `evaluateAll`. */
export interface Validation<B = unknown, J = MetricsFunction>
  extends Pick<EvaluateAllOptions<unknown, B>, "weights" | "samples" | "batches"> {
  /** Data that can be iterated over more than once. */
  readonly data: TrainingData<B>;
  /** Number of iterations between evaluations; default at the end of each pass. */
  readonly every?: number;
  /** Metrics of the whole set that are not means over batches. */
  readonly metrics?: J;
}

/** Options of validation; `evaluateAll` checks its own options. */
const VALIDATION = {
  data: checkRepeatable,
  every: checks.optional(checks.integer(1)),
  weights: later,
  samples: later,
  batches: later,
  metrics: later,
} satisfies OptionTable<Validation>;

/** Refuses a generator as validation data, since it would be empty at the second evaluation. */
function checkRepeatable(what: string, data: unknown): void {
  checks.object(what, data);
  if (typeof (data as { readonly next?: unknown }).next !== "function") return;
  throw invalid(
    `${what} is evaluated more than once, and a generator can be gone through only once; pass an array or a dataset`,
  );
}

const SAVE = {
  path: checkPath as Check,
  every: withDefault(1000, checks.integer(1)),
} satisfies OptionTable<NonNullable<FitOptions["save"]>>;

const FIT = {
  ...FEEDING,
  steps: checks.optional(checks.integer(1)),
  epochs: checks.optional(checks.integer(1)),
  onStep: checks.optional(checks.callback),
  callbacks: withDefault([], checkCallbacks),
  validation: (what: string, validation: unknown) => {
    if (validation !== undefined)
      readOptions(what, validation as Validation, VALIDATION, { example: "{ data }" });
  },
  save: (what: string, save: unknown) => {
    if (save !== undefined)
      readOptions(what, save as object, SAVE, { example: '{ path: "run.safetensors" }' });
  },
} satisfies OptionTable<FitOptions>;

/**
 * Trains on the data from the position of the run's state.
 * @throws MP_INVALID_ARGUMENT for options or data; what a step, a callback or the data throws
 */
export async function fit<T>(
  run: FeedingRun,
  data: TrainingData<T>,
  options: AnyFitOptions<T>,
): Promise<FitResult> {
  const read = readOptions<FitOptions<string, T>, typeof FIT>("fit", options as FitOptions<string, T>, FIT, {
    example: "{ steps: 1000 }",
  });
  if (read.save !== undefined) await prepareFile(read.save.path);
  const call = new FitCall(run, read, await findStart(run, read));
  const ended = await call.train(data).catch(async (error: unknown) => {
    // An error of a callback would hide the error that ended the training.
    await tellEnd(call.callbacks, { ...call.counts, ended: "failed", error }).catch(() => undefined);
    throw error;
  });
  const result: FitResult = { ...call.counts, ended };
  await tellEnd(call.callbacks, result);
  run.callbackStates.end();
  return result;
}

type Read<T> = OptionValues<FitOptions<string, T>, typeof FIT>;

/** One call of `fit`: counts its steps, tells its callbacks, saves. */
class FitCall<T> {
  readonly callbacks: NonNullable<FitOptions<string, T>["callbacks"]>;
  readonly #run: FeedingRun;
  readonly #options: Read<T>;
  readonly #start: Start;
  #step: number;
  #savedAt: number;

  constructor(run: FeedingRun, options: Read<T>, start: Start) {
    const { onStep, callbacks } = options;
    this.callbacks = onStep === undefined ? callbacks : [{ onStep }, ...callbacks];
    this.#run = run;
    this.#options = options;
    this.#start = start;
    this.#step = start.step;
    this.#savedAt = start.step;
  }

  get counts(): Pick<FitResult, "steps" | "made"> {
    return { steps: this.#step, made: this.#step - this.#start.step };
  }

  async train(data: TrainingData<T>): Promise<FitResult["ended"]> {
    const ended = await this.#run.endsBy(await this.#untilEnd(data));
    if (this.#step > this.#savedAt) await this.#save();
    const { step, place } = this.#start;
    if (step >= this.#steps || place.pass >= this.#passes) {
      this.#run.warn(nothingToDo(this.#options, step, place.pass));
    }
    return ended;
  }

  get #steps(): number {
    return this.#options.steps ?? Number.POSITIVE_INFINITY;
  }

  get #passes(): number {
    const { steps, epochs } = this.#options;
    return epochs ?? (steps === undefined ? this.#start.place.pass + 1 : Number.POSITIVE_INFINITY);
  }

  async #untilEnd(data: TrainingData<T>): Promise<FitResult["ended"]> {
    const { step, place } = this.#start;
    const { callbackStates, training } = this.#run;
    callbackStates.begin(this.callbacks, (warning) => this.#run.warn(warning));
    const { steps, epochs, validation } = this.#options;
    const passes = this.#passes;
    const begun: FitStart = {
      step,
      epoch: place.pass,
      steps,
      epochs: epochs ?? (steps === undefined ? passes : undefined),
      validates: validation !== undefined,
      training,
    };
    const isStopped = await stops(this.callbacks, (callback) => callback.onStart?.(begun));
    const ended = this.#endedBy(isStopped);
    if (ended !== undefined) return ended;
    for await (const made of makeSteps(this.#run, data, this.#options, { start: this.#start, passes })) {
      const endedNow = this.#endedBy(await this.#tell(made));
      if (endedNow !== undefined) return endedNow;
    }
    return this.#endedBy(false) ?? "epochs";
  }

  #endedBy(isStopped: boolean): FitResult["ended"] | undefined {
    if (isAborted(this.#run, this.#options)) return "aborted";
    if (isStopped) return "stopped";
    return this.#step >= this.#steps ? "steps" : undefined;
  }

  /** Tells the callbacks of a step or the end of a pass; returns whether one answered `"stop"`. */
  async #tell(made: StepOrEpoch<T>): Promise<boolean> {
    const isStopped = "step" in made ? await this.#tellStep(made.step) : await this.#tellEpoch(made.epoch);
    await settle(this.callbacks, "step" in made ? made.step : made.epoch);
    if ("step" in made && this.#step % (this.#options.save?.every ?? SAVE.every.default) === 0) {
      await this.#save();
    }
    return isStopped;
  }

  async #tellStep(step: FitStep<string, T>): Promise<boolean> {
    this.#step = step.step;
    const isStopped = await stops(this.callbacks, (callback) => callback.onStep?.(step));
    const every = this.#options.validation?.every;
    if (every === undefined || step.step % every !== 0) return isStopped;
    return (await this.#validate(step)) || isStopped;
  }

  async #tellEpoch(epoch: FitEpoch): Promise<boolean> {
    const { validation } = this.#options;
    const validates = validation !== undefined && validation.every === undefined;
    const isStopped = validates && (await this.#validate(epoch));
    return (await stops(this.callbacks, (callback) => callback.onEpoch?.(epoch))) || isStopped;
  }

  async #validate({ step, epoch }: FitEpoch): Promise<boolean> {
    const { data, every: _every, ...options } = this.#options.validation as Validation<T>;
    const evaluated = (await this.#run.evaluateAll(data, options)) as Omit<FitValidation, keyof FitEpoch>;
    const result: FitValidation = { ...evaluated, step, epoch };
    if (Number.isNaN(evaluated.loss)) this.#run.warn(lossOfNaN);
    return stops(this.callbacks, (callback) => callback.onValidation?.(result));
  }

  async #save(): Promise<void> {
    const { save } = this.#options;
    if (save === undefined) return;
    await this.#run.training.save(save.path);
    this.#savedAt = this.#step;
  }
}

/** Nothing is skipped here, and callbacks find no validation better than this one. */
const lossOfNaN: TrainingWarning = {
  type: "data",
  message: "validation: the loss is NaN; diagnose([batch]) of its data names what is not finite",
};

/** Warns of a call that trains nothing, such as the second with `epochs: 1`, and says what to pass. */
function nothingToDo(
  { steps, epochs }: Pick<Read<unknown>, "steps" | "epochs">,
  iteration: number,
  passes: number,
): TrainingWarning {
  const isAtSteps = steps !== undefined && iteration >= steps;
  const asked = isAtSteps ? `steps: ${steps}` : `epochs: ${epochs}`;
  const done = isAtSteps ? `is already at step ${iteration}` : `has already made ${passes} passes`;
  const more = isAtSteps ? `steps: ${iteration + 1}` : `epochs: ${passes + 1}`;
  return {
    type: "data",
    message: `fit: nothing to do: the run ${done} of ${asked}; pass at least ${more}, or neither for one more pass`,
    details: { iteration, passes },
  };
}
