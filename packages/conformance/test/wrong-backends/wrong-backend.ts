import type { Backend } from "@mp/graph";

/** A backend that is wrong in one way, and what the suite must report about it. */
export interface WrongBackend {
  /** The fault, in a few words. */
  readonly fault: string;
  readonly factory: () => Promise<Backend>;
  /** Groups of case ids that are run against it. */
  readonly axes: readonly string[];
  /** Runs only those cases whose graphs hold the operator; default all. */
  readonly among?: RegExp;
  /** Cases that name the fault: each must fail. */
  readonly named: readonly string[];
  /** Other cases that the fault breaks; no other case may fail. */
  readonly consequences?: readonly RegExp[];
  /** Pattern that every failure's message must match, where the fault always shows in the same way. */
  readonly message?: RegExp;
}
