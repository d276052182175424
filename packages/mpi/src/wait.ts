/**
 * Waits for MPI, which makes progress only while one of its functions runs: tests a request in bursts, and lets the event
 * loop run between them.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";

/** Duration of a burst of tests, after which timers and sockets of the program are served. */
const BURST_MS = 0.2;
/** Time after which a wait that may sleep does so between bursts, which leaves the core to ranks that compute. */
const EAGER_MS = 20;
const SLEEP_MS = 1;

export interface Wait {
  readonly test: () => boolean;
  /** False while data move: each burst of tests moves some, and pauses would slow that down. */
  readonly maySleep: boolean;
  readonly timeoutMs: number;
  /** Called when the time is over; does not return. */
  readonly onTimeout: () => never;
}

/** Resolves once `test` returns true. */
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
