import { MpError } from "@mp/graph";
import { checkOptions, isPlainObject, type OptionNames, shown } from "@mp/graph/internal";
import type { StepResult } from "../definition/result.js";
import type { DatasetEvaluation } from "../metrics/dataset-evaluation.js";
import type { Json } from "./json.js";

/** The answer of a callback: `"stop"` ends training, anything else continues it. A promise is awaited. */
export type CallbackAnswer = "stop" | undefined | void | Promise<"stop" | undefined> | Promise<void>;

/** Settable learning rates by group; with objectives, by objective and group. */
export type RatesByGroup = Readonly<Record<string, number | Readonly<Record<string, number>>>>;

/** The part of a run that a callback may use, whatever the trainer's types are. */
export interface FitTraining {
  /** Saves like the trainer's `save`: the file also has the state of all callbacks. */
  save(path: string): Promise<void>;
  /** The trainer's `rates`. */
  rates(): Promise<RatesByGroup>;
  /** The trainer's `setRates`. */
  setRates(rates: RatesByGroup): Promise<void>;
}

/** The position at which a call of `fit` begins. */
export interface FitStart {
  /** Iterations before it, since the start of the run. */
  readonly step: number;
  /** Passes over the data before it. */
  readonly epoch: number;
  /** The iteration that it ends at; undefined if it was not asked for one. */
  readonly steps: number | undefined;
  /** The number of passes that it ends after; undefined if it ends by `steps`. */
  readonly epochs: number | undefined;
  /** Whether `onValidation` will be called. */
  readonly validates: boolean;
  /** Saves, and sets rates. */
  readonly training: FitTraining;
}

/** The position of a step in a run. */
export interface FitPosition<B = unknown> {
  /** Iterations since the start of the run, including this one. */
  readonly step: number;
  /** Passes over the data before this one. */
  readonly epoch: number;
  /** The batches of the step, as `diagnose` takes them; one unless the trainer accumulates. */
  readonly batches: readonly B[];
  /** How long the step took, without the making of its batches. The first step of a batch shape also compiles. */
  readonly milliseconds: number;
}

/** A step that has been made. */
export interface FitStep<K extends string = string, B = unknown> extends StepResult<K>, FitPosition<B> {}

/** A pass over the data that has ended. */
export interface FitEpoch {
  /** Passes before it: the `epoch` of its steps. */
  readonly epoch: number;
  /** Iterations since the start of the run. */
  readonly step: number;
}

/**
 * The result of `evaluateAll` for the validation data, and its position; with objectives their results are by name.
 */
export interface FitValidation<K extends string = string>
  extends Omit<DatasetEvaluation<K>, "metrics">,
    FitEpoch {
  /**
   * The loss's `metrics`, means over the samples; beside them, without a type, what the validation's own metrics result
   * in.
   */
  readonly metrics: Readonly<Record<K, number>>;
}

export interface FitResult {
  /** Iterations since the start of the run. */
  readonly steps: number;
  /** Number of those made by this call. */
  readonly made: number;
  /** `stopped`: a callback answered `"stop"`. */
  readonly ended: "steps" | "epochs" | "stopped" | "aborted";
}

/** How a call of `fit` ended: its result, or the error that it rejects with. */
export interface FitEnd extends Omit<FitResult, "ended"> {
  readonly ended: FitResult["ended"] | "failed";
  /** The error that was thrown; undefined unless `ended` is `failed`. */
  readonly error?: unknown;
}

/** A state of a callback that checkpoints contain, so that a resumed run continues with the same bits. */
export interface CallbackState {
  /** Names it in the checkpoint; no two callbacks of a call of `fit` have the same. */
  readonly name: string;
  /** A JSON value; asked for at each save and at the end of `fit`. Between two events it is as after the last one. */
  save(): Json;
  /**
   * Takes what `save` returned: before `onStart`, if the run has a state of this name, from a checkpoint or from an
   * earlier call of `fit`. What it throws makes `fit` fail.
   */
  load(saved: Json): void;
}

/**
 * Functions that `fit` calls and awaits. They may evaluate, predict, save or diagnose; `"stop"` ends training, and what
 * they throw makes `fit` fail. Several callbacks are called in the order of their list, each of them also where an
 * earlier one answered `"stop"`. `S` is the type of a step and `V` of a validation: with objectives, their results by
 * name.
 */
export interface FitCallback<
  K extends string = string,
  B = unknown,
  S = FitStep<K, B>,
  V = FitValidation<K>,
> {
  /** State that it keeps between events, if it continues where a checkpoint was saved. */
  readonly state?: CallbackState;
  /** Before the first step. */
  readonly onStart?: (start: FitStart) => CallbackAnswer;
  /** After each step, before it is saved. */
  readonly onStep?: (step: S) => CallbackAnswer;
  /** After each evaluation of the validation data, and at the end of a pass before `onEpoch`. */
  readonly onValidation?: (validation: V) => CallbackAnswer;
  /** At the end of each pass over the data. A pass whose last step ends `fit` by `steps` ends in the next call. */
  readonly onEpoch?: (epoch: FitEpoch) => CallbackAnswer;
  /**
   * After each step and after each pass, when all callbacks have been called for it: a checkpoint that is saved here
   * has the state of all of them, so a resumed run repeats nothing and leaves nothing out.
   */
  readonly afterCallbacks?: (position: FitEpoch) => void | Promise<void>;
  /** Once, after the last save. Where `fit` fails, every callback is called, and `fit` rejects with the first error. */
  readonly onEnd?: (end: FitEnd) => void | Promise<void>;
}

const FUNCTIONS: OptionNames<Omit<FitCallback, "state">> = {
  onStart: true,
  onStep: true,
  onValidation: true,
  onEpoch: true,
  afterCallbacks: true,
  onEnd: true,
};
const CALLBACK: OptionNames<FitCallback> = { ...FUNCTIONS, state: true };

/** @throws MP_INVALID_ARGUMENT for what is no list of callbacks, or a callback with none of the functions */
export function checkCallbacks(what: string, callbacks: unknown): void {
  if (!Array.isArray(callbacks))
    throw invalid(`${what} must be a list: [{ onStep }], got ${shown(callbacks)}`);
  for (const [index, callback] of callbacks.entries()) checkCallback(`${what}[${index}]`, callback);
  checkNames(what, callbacks);
}

function checkCallback(what: string, callback: unknown): void {
  // An instance of a class may have other members; an object that is written out has none that nobody calls.
  if (typeof callback !== "object" || callback === null || isPlainObject(callback)) {
    checkOptions<FitCallback>(what, callback as FitCallback, CALLBACK, "{ onStep }");
  }
  const functions = Object.keys(FUNCTIONS).filter((name) => {
    const value = (callback as Readonly<Record<string, unknown>>)[name];
    if (value === undefined || typeof value === "function") return value !== undefined;
    throw invalid(`${what}: ${name} must be a function, got ${shown(value)}`);
  });
  if (functions.length === 0) throw invalid(`${what} has none of ${Object.keys(FUNCTIONS).join(", ")}`);
  checkState(what, (callback as FitCallback).state);
}

function checkState(what: string, state: CallbackState | undefined): void {
  if (state === undefined) return;
  const { name, save, load } = (state ?? {}) as Partial<CallbackState>;
  if (typeof name === "string" && name !== "" && typeof save === "function" && typeof load === "function")
    return;
  throw invalid(`${what}: state must be { name, save(), load(saved) } with a name, got ${shown(state)}`);
}

function checkNames(what: string, callbacks: readonly FitCallback[]): void {
  const names = callbacks.flatMap(({ state }) => state?.name ?? []);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw invalid(`${what}: two callbacks have a state named ${shown(twice)}; give one of them another name`);
  }
}

/** Calls each in turn and resolves with whether one of them answered `"stop"`. */
export async function stops<C>(
  callbacks: readonly C[],
  call: (callback: C) => CallbackAnswer,
): Promise<boolean> {
  let isStopped = false;
  for (const callback of callbacks) {
    if ((await call(callback)) === "stop") isStopped = true;
  }
  return isStopped;
}

/** Calls `onEnd` of each, whatever the others throw. @throws the first error */
export async function tellEnd(callbacks: readonly Pick<FitCallback, "onEnd">[], end: FitEnd): Promise<void> {
  const errors: unknown[] = [];
  for (const callback of callbacks) {
    try {
      await callback.onEnd?.(end);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** Calls `afterCallbacks` of each in turn. */
export async function settle(
  callbacks: readonly Pick<FitCallback, "afterCallbacks">[],
  at: FitEpoch,
): Promise<void> {
  for (const callback of callbacks) await callback.afterCallbacks?.(at);
}

const invalid = (message: string): MpError<"MP_INVALID_ARGUMENT"> =>
  new MpError("MP_INVALID_ARGUMENT", message);
