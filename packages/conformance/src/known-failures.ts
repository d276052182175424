import type { ConformanceCase } from "./conformance-case.js";

/** The reason why a case fails on a backend. The list is public, in the backend's package. */
export interface KnownFailure {
  readonly reason: string;
  /** Pattern that the failure's message must match, so that the entry does not hide another fault. */
  readonly pattern: RegExp;
  /** The issue in the engine's tracker, or in ours. */
  readonly link?: string;
}

/** Known failures by case id. An entry whose case passes or does not exist fails the run. */
export type KnownFailures = Readonly<Record<string, KnownFailure>>;

/** Problems with entries whose case does not exist. */
export function strayEntries(known: KnownFailures, cases: readonly ConformanceCase[]): readonly string[] {
  const ids = new Set(cases.map(({ id }) => id));
  return Object.keys(known)
    .filter((id) => !ids.has(id))
    .map((id) => `known failures: there is no case ${id}`);
}

/**
 * Says what is wrong with an entry, given how its case failed or why it was refused; undefined if the case failed as
 * the entry says.
 */
export function findFault(
  known: KnownFailure,
  message: string | undefined,
  refusal: string | undefined,
): string | undefined {
  if (message === undefined) {
    const what = refusal === undefined ? "passes" : "refuses as its manifest says";
    return `is listed as a known failure (${known.reason}) but ${what}: take it off the list`;
  }
  if (known.pattern.test(message)) return undefined;
  return `fails otherwise than the known failure says (${known.pattern}): ${message}`;
}
