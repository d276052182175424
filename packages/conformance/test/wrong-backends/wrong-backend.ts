import type { Backend } from "@mp/core";

/** A backend that is wrong in one way, and what the suite must say of it. */
export interface WrongBackend {
  /** The fault, in a few words. */
  readonly fault: string;
  readonly factory: () => Promise<Backend>;
  /** Axes that are run against it: groups of case ids. */
  readonly axes: readonly string[];
  /** Of those, the ones whose graphs hold the operator; default all. */
  readonly among?: RegExp;
  /** Cases that name the fault: each must fail. */
  readonly named: readonly string[];
  /** What else the fault brings down with it; nothing beyond these may fail. */
  readonly consequences?: readonly RegExp[];
  /** What every failure's message must match, where the fault has one face. */
  readonly message?: RegExp;
}
