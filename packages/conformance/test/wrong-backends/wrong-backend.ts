import type { Backend } from "@mp/graph";

/** A backend with one fault, and the failures that the suite must report. */
export interface WrongBackend {
  /** The fault, in a few words. */
  readonly fault: string;
  readonly factory: () => Promise<Backend>;
  /** Groups of case ids that are run against it. */
  readonly axes: readonly string[];
  /** Runs only the cases whose ids match; default all. */
  readonly among?: RegExp;
  /** Cases that name the fault; each must fail. */
  readonly named: readonly string[];
  /** Other cases that the fault breaks; no other case may fail. */
  readonly consequences?: readonly RegExp[];
  /** Pattern that every failure's message must match, if the fault always shows in the same way. */
  readonly message?: RegExp;
}
