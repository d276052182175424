/**
 * Waiting for MPI, which makes progress only while one of its functions runs: a request is tested in bursts, between
 * which the event loop runs.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";

/** A burst ends after this time, so that timers and sockets of the program are served. */
const BURST_MS = 0.2;
/** After this time a wait that may be long sleeps between bursts, and leaves the core to the ranks that compute. */
const EAGER_MS = 20;
const SLEEP_MS = 1;

export interface Wait {
  /** Whether it is done. */
  readonly test: () => boolean;
  /** False while data move: each burst moves some, so that a pause would make it slower. */
  readonly maySleep: boolean;
  readonly timeoutMs: number;
  /** Does not return. */
  readonly onTimeout: () => never;
}

/** Resolves when `test` says so. */
export async function waitFor({ test, maySleep, timeoutMs, onTimeout }: Wait): Promise<void> {
  const start = performance.now();
  for (;;) {
    const burst = performance.now();
    do if (test()) return;
    while (performance.now() - burst < BURST_MS);
    const waited = performance.now() - start;
    if (waited > timeoutMs) onTimeout();
    await (maySleep && waited > EAGER_MS ? sleep(SLEEP_MS) : nextTurn());
  }
}
