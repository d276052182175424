import { MpError } from "../../errors.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { isPlainObject } from "../../plain-object.js";
import { shown } from "../../shown.js";
import type { StepResult } from "../step/result.js";

/** What a callback may answer: `"stop"` ends training, anything else continues it. A promise is awaited. */
export type CallbackAnswer = "stop" | undefined | void | Promise<"stop" | undefined> | Promise<void>;

/** Where a call of `fit` begins. */
export interface FitStart {
  /** Iterations before it, since the start of the run. */
  readonly step: number;
  /** Passes over the data before it. */
  readonly epoch: number;
}

/** Where a step is in a run. */
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

export interface FitResult {
  /** Iterations since the start of the run. */
  readonly steps: number;
  /** Those of them made by this call. */
  readonly made: number;
  /** `stopped`: a callback answered `"stop"`. */
  readonly ended: "steps" | "epochs" | "stopped" | "aborted";
}

/** How a call of `fit` ended: its result, or the error that it rejects with. */
export interface FitEnd extends Omit<FitResult, "ended"> {
  readonly ended: FitResult["ended"] | "failed";
  /** What was thrown; undefined unless `ended` is `failed`. */
  readonly error?: unknown;
}

/**
 * Functions that `fit` calls and awaits. They may evaluate, predict, save or diagnose; `"stop"` ends training, and what
 * they throw makes `fit` fail. Several callbacks are called in the order of their list, each of them also where an
 * earlier one answered `"stop"`. `S` is the type of a step: with objectives, their results by name.
 */
export interface FitCallback<K extends string = string, B = unknown, S = FitStep<K, B>> {
  /** Before the first step. */
  readonly onStart?: (start: FitStart) => CallbackAnswer;
  /** After each step, before it is saved. */
  readonly onStep?: (step: S) => CallbackAnswer;
  /** At the end of each pass over the data. A pass whose last step ends `fit` by `steps` ends in the next call. */
  readonly onEpoch?: (epoch: FitEpoch) => CallbackAnswer;
  /** Once, after the last save. Where `fit` fails, every callback is called, and `fit` rejects with the first error. */
  readonly onEnd?: (end: FitEnd) => void | Promise<void>;
}

const CALLBACK: OptionNames<FitCallback> = { onStart: true, onStep: true, onEpoch: true, onEnd: true };

/** @throws MP_INVALID_ARGUMENT for what is no list of callbacks, or a callback with none of the functions */
export function checkCallbacks(what: string, callbacks: unknown): void {
  if (!Array.isArray(callbacks)) throw invalid(`${what} is a list: [{ onStep }], got ${shown(callbacks)}`);
  for (const [index, callback] of callbacks.entries()) checkCallback(`${what}[${index}]`, callback);
}

function checkCallback(what: string, callback: unknown): void {
  // An instance of a class may have other members; an object that is written out has none that nobody calls.
  if (typeof callback !== "object" || callback === null || isPlainObject(callback)) {
    checkOptions<FitCallback>(what, callback as FitCallback, CALLBACK, "{ onStep }");
  }
  const functions = Object.keys(CALLBACK).filter((name) => {
    const value = (callback as Readonly<Record<string, unknown>>)[name];
    if (value === undefined || typeof value === "function") return value !== undefined;
    throw invalid(`${what}: ${name} is a function, got ${shown(value)}`);
  });
  if (functions.length === 0) throw invalid(`${what} has none of ${Object.keys(CALLBACK).join(", ")}`);
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

const invalid = (message: string): MpError<"MP_INVALID_ARGUMENT"> =>
  new MpError("MP_INVALID_ARGUMENT", message);
