import { checkOptions, invalid, isPlainObject, type OptionNames, shown } from "@mp/graph/internal";
import type { StepResult } from "../definition/result.js";
import type { DatasetEvaluation } from "../metrics/evaluation-result.js";
import type { Json } from "./json.js";

/** The answer of a callback: `"stop"` ends training, anything else continues it. A promise is awaited. */
export type CallbackAnswer = "stop" | undefined | void | Promise<"stop" | undefined> | Promise<void>;

/** Settable learning rates by group; with objectives, by objective and group. */
export type RatesByGroup = Readonly<Record<string, number | Readonly<Record<string, number>>>>;

/** The part of a run that a callback may use, whatever the trainer's types are. */
export interface FitTraining {
  /** Saves like the trainer's `save`: the file also has the state of all callbacks. */
  save(path: string): Promise<void>;
  /**
   * Takes the weights, their average and the model state of a checkpoint of this run, and nothing else: optimizer,
   * scaler, counters and position stay.
   * @throws as the trainer's `load`
   */
  loadWeights(path: string): Promise<void>;
  /** The trainer's `rates`. */
  rates(): Promise<RatesByGroup>;
  /** The trainer's `setRates`. */
  setRates(rates: RatesByGroup): Promise<void>;
}

/** The position at which a call of `fit` begins, and where it will end. */
export interface FitStart {
  /** Iterations before the call, since the start of the run. */
  readonly step: number;
  /** Passes over the data before the call. */
  readonly epoch: number;
  /** The iteration at which the call ends; undefined if `steps` was not given. */
  readonly steps: number | undefined;
  /** The number of passes after which the call ends; undefined if it ends by `steps`. */
  readonly epochs: number | undefined;
  /** Whether `onValidation` will be called. */
  readonly validates: boolean;
  /** The part of the run that saves and sets rates. */
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
  /** Duration of the step without making its batches. The first step of a batch shape includes compilation. */
  readonly milliseconds: number;
}

/** The result of a step, with its position. */
export interface FitStep<K extends string = string, B = unknown> extends StepResult<K>, FitPosition<B> {}

/** A pass over the data that has ended. */
export interface FitEpoch {
  /** Passes before this one: the `epoch` of its steps. */
  readonly epoch: number;
  /** Iterations since the start of the run. */
  readonly step: number;
}

/** The result of `evaluateAll` for the validation data, and its position; with objectives, results by name. */
export interface FitValidation<K extends string = string, S = unknown>
  extends DatasetEvaluation<K, S>,
    FitEpoch {}

export interface FitResult {
  /** Iterations since the start of the run. */
  readonly steps: number;
  /** Number of iterations that this call made. */
  readonly made: number;
  /** Why the call ended; `stopped` means that a callback answered `"stop"`. */
  readonly ended: "steps" | "epochs" | "stopped" | "aborted";
}

/** The end of a call of `fit`: its result, or the error that it rejects with. */
export interface FitEnd extends Omit<FitResult, "ended"> {
  readonly ended: FitResult["ended"] | "failed";
  /** The error that was thrown; undefined unless `ended` is `failed`. */
  readonly error?: unknown;
}

/** A callback's state, which checkpoints contain so that a resumed run continues with the same bits. */
export interface CallbackState {
  /** Name of the state in the checkpoint, unique among the callbacks of a call of `fit`. */
  readonly name: string;
  /** Returns the state as JSON; called at each save and at the end of `fit`, and only between events. */
  save(): Json;
  /**
   * Takes what `save` returned. Called before `onStart` if the run has a state of this name, from a checkpoint or
   * from an earlier call of `fit`. An error makes `fit` fail.
   */
  load(saved: Json): void;
}

/**
 * Functions that `fit` calls and awaits. They may evaluate, predict, save or diagnose; `"stop"` ends training, and an
 * error makes `fit` fail. Several callbacks are called in the order of their list, all of them even if an earlier one
 * answers `"stop"`. `S` is the type of a step and `V` of a validation; with objectives, they have results by name.
 * Metrics have a type where `K` names them.
 */
export interface FitCallback<
  K extends string = string,
  B = unknown,
  S = FitStep<K, B>,
  V = Omit<FitValidation<K>, "metrics"> & {
    metrics: Readonly<Record<K, string extends K ? unknown : number>>;
  },
> {
  /** The state between events, for a callback that continues where a checkpoint was saved. */
  readonly state?: CallbackState;
  /** Called before the first step. */
  readonly onStart?: (start: FitStart) => CallbackAnswer;
  /** Called after each step, before a checkpoint is saved. */
  readonly onStep?: (step: S) => CallbackAnswer;
  /** Called after each evaluation of the validation data; at the end of a pass, before `onEpoch`. */
  readonly onValidation?: (validation: V) => CallbackAnswer;
  /** Called at the end of each pass. If `steps` ends `fit` with the last step of a pass, the next `fit` calls it. */
  readonly onEpoch?: (epoch: FitEpoch) => CallbackAnswer;
  /**
   * Called after each step and each pass, once the other functions of all callbacks have been called for it. A
   * checkpoint saved here has the state of all callbacks, so a resumed run repeats nothing and leaves nothing out.
   */
  readonly afterCallbacks?: (position: FitEpoch) => void | Promise<void>;
  /** Called once, after the last save or a failure, even if another `onEnd` throws; the first error rejects `fit`. */
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

/** @throws MP_INVALID_ARGUMENT for a value that is not a list, or a callback without any of the functions */
export function checkCallbacks(what: string, callbacks: unknown): void {
  if (!Array.isArray(callbacks))
    throw invalid(`${what} must be a list: [{ onStep }], got ${shown(callbacks)}`);
  for (const [index, callback] of callbacks.entries()) checkCallback(`${what}[${index}]`, callback);
  checkNames(what, callbacks);
}

function checkCallback(what: string, callback: unknown): void {
  // An instance of a class may have other members; in a plain object, an unknown member is a mistake.
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

/** Calls the callbacks in turn and resolves with whether one of them answered `"stop"`. */
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

/** Calls `onEnd` of every callback, even if some throw. @throws the first error */
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

/** Calls `afterCallbacks` of the callbacks in turn. */
export async function settle(
  callbacks: readonly Pick<FitCallback, "afterCallbacks">[],
  at: FitEpoch,
): Promise<void> {
  for (const callback of callbacks) await callback.afterCallbacks?.(at);
}
