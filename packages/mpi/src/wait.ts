/**
 * Waits for MPI, which makes progress only while one of its functions runs. So a wait tests a request in bursts, and
 * lets the event loop run between the bursts.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";

/** Duration of a burst of tests, after which timers and sockets of the program are served. */
const BURST_MS = 0.2;
/** Time after which a wait may sleep between bursts, to leave the core to ranks that compute. */
const EAGER_MS = 20;
const SLEEP_MS = 1;

export interface Wait {
  readonly test: () => boolean;
  /** False while data move, because each burst of tests moves some data, and pauses would slow this down. */
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
