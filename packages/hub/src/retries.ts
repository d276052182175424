import { setTimeout as wait } from "node:timers/promises";
import type { MpError } from "@mp/graph";

/** A failure that another attempt may fix. */
export class TransientError extends Error {
  readonly failure: MpError;
  /** The pause that the server asks for, in milliseconds. */
  readonly afterMs: number;

  constructor(failure: MpError, afterMs = 0) {
    super(failure.message);
    this.failure = failure;
    this.afterMs = afterMs;
  }
}

/** Number of attempts in a row without a new byte. */
const ATTEMPTS = 5;
/** Pause after the first failure in a row; it doubles with each. */
const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Retries until an attempt succeeds, or until several in a row fail with TransientError while `reached` does not grow.
 */
export async function withRetries<T>(attempt: () => Promise<T>, reached: () => number = () => 0): Promise<T> {
  let furthest = reached();
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof TransientError)) throw error;
      if (reached() > furthest) failures = 1;
      furthest = Math.max(furthest, reached());
      if (failures >= ATTEMPTS) throw error.failure;
      await wait(Math.min(Math.max(PAUSE_MS * 2 ** (failures - 1), error.afterMs), LONGEST_PAUSE_MS));
    }
  }
}
