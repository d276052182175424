import { setImmediate } from "node:timers/promises";

/** `auto` runs short runs on the calling thread, as measured, and all others on a worker thread. */
export type RunMode = "auto" | "sync" | "async";

/** Something to run in both modes, such as a binding. */
export interface Runnable {
  runSync(): void;
  runAsync(): Promise<void>;
}

/** Longest run on the calling thread. Moving a run to a worker thread costs 15 to 50 µs: under 5 % from here on. */
const SYNC_UP_TO_MS = 1;

/**
 * Time after which the event loop gets a turn. Awaiting runs on this thread only queues microtasks, which would block
 * timers and sockets as long as the caller loops.
 */
const BREATHE_AFTER_MS = 8;

const REMEMBERED_RUNS = 4;

/**
 * Runs bindings of one session and records how long they take. The shortest of the last few runs decides: a busy
 * machine only makes a run look longer.
 */
export class RunPacer {
  readonly #recentMs: number[] = [];
  #lastBreathMs = 0;

  /** Milliseconds of the shortest recent run; undefined before the first one. */
  get typicalMs(): number | undefined {
    return this.#recentMs.length === 0 ? undefined : Math.min(...this.#recentMs);
  }

  /**
   * The mode that `auto` would choose now. The first run is asynchronous, because it allocates what later runs reuse.
   */
  get choice(): "sync" | "async" {
    return (this.typicalMs ?? Number.POSITIVE_INFINITY) <= SYNC_UP_TO_MS ? "sync" : "async";
  }

  /** Runs a binding. @throws whatever its run throws */
  async run(binding: Runnable, mode: RunMode = "auto"): Promise<void> {
    const begin = performance.now();
    if ((mode === "auto" ? this.choice : mode) === "async") {
      await binding.runAsync();
      this.#lastBreathMs = performance.now();
      this.#remember(this.#lastBreathMs - begin);
      return;
    }
    binding.runSync();
    const end = performance.now();
    this.#remember(end - begin);
    if (end - this.#lastBreathMs < BREATHE_AFTER_MS) return;
    await setImmediate();
    this.#lastBreathMs = performance.now();
  }

  #remember(ms: number): void {
    this.#recentMs.push(ms);
    if (this.#recentMs.length > REMEMBERED_RUNS) this.#recentMs.shift();
  }
}
