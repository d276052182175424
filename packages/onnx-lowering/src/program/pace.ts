import { setImmediate } from "node:timers/promises";

/** `auto` uses the calling thread if runs are measured to be short, else a worker thread. */
export type RunMode = "auto" | "sync" | "async";

/** Something to run in both modes, such as a binding. */
export interface Runnable {
  runSync(): void;
  runAsync(): Promise<void>;
}

/** Longest run on the calling thread. A worker costs 15 to 50 µs, which is under 5 % of longer runs. */
const SYNC_UP_TO_MS = 1;

/**
 * Time after which other tasks of the event loop get a turn. A caller that awaits runs on this thread in a loop only
 * queues microtasks, which would block timers and sockets.
 */
const BREATHE_AFTER_MS = 8;

const REMEMBERED_RUNS = 4;

/**
 * Runs bindings of one session and measures how long they take. The shortest of the last few runs chooses the thread,
 * because a busy machine only makes a run look longer.
 */
export class RunPacer {
  readonly #recentMs: number[] = [];
  #lastBreathMs = 0;

  /** Milliseconds of the shortest recent run; undefined before the first one. */
  get typicalMs(): number | undefined {
    return this.#recentMs.length === 0 ? undefined : Math.min(...this.#recentMs);
  }

  /**
   * What `auto` would choose now. The first run is asynchronous, because it allocates what later runs reuse.
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
