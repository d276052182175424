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

/** The reason for which a download waits, and for how long. */
export interface Pause {
  readonly ms: number;
  readonly because: string;
}

/** A signal that aborts a download, and a callback for its pauses. */
export interface Waiting {
  readonly signal?: AbortSignal | undefined;
  readonly onPause?: ((pause: Pause) => void) | undefined;
}

/** Number of attempts in a row with less than `PROGRESS_BYTES` more. */
const ATTEMPTS = 5;
const PROGRESS_BYTES = 65_536;
/**
 * Pauses, in multiples of the time for which a connection may be silent. The `first` pause in a row doubles
 * with each failure. `all` limits the sum of a row, because a server may ask for any pause.
 */
const TIMES = { first: 1 / 20, all: 30 } as const;

/** Waits. @throws the reason of an aborted signal */
export async function pause({ signal, onPause }: Waiting, ms: number, because: string): Promise<void> {
  onPause?.({ ms, because });
  await wait(ms, undefined, { signal }).catch(() => undefined);
  signal?.throwIfAborted();
}

/**
 * Retries until an attempt succeeds, or until several in a row fail with TransientError while `reached`, in bytes,
 * hardly grows.
 */
export async function withRetries<T>(
  hub: Waiting & { readonly timeoutMs: number },
  attempt: () => Promise<T>,
  reached: () => number = () => 0,
): Promise<T> {
  let from = reached();
  let waitedMs = 0;
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      hub.signal?.throwIfAborted();
      if (!(error instanceof TransientError)) throw error;
      if (reached() - from >= PROGRESS_BYTES) {
        [from, waitedMs, failures] = [reached(), 0, 1];
      }
      const ms = Math.max(TIMES.first * hub.timeoutMs * 2 ** (failures - 1), error.afterMs);
      waitedMs += ms;
      if (failures >= ATTEMPTS || waitedMs > TIMES.all * hub.timeoutMs) throw error.failure;
      await pause(hub, ms, error.failure.message);
    }
  }
}
