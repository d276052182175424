import { setImmediate } from "node:timers/promises";

/** `auto` runs what was measured to be short on this thread, and everything else on a worker thread. */
export type RunMode = "auto" | "sync" | "async";

/** The interface that a pacer runs: a binding, or anything that has both modes. */
export interface Runnable {
  runSync(): void;
  runAsync(): Promise<void>;
}

/** Handing a run to a worker thread and back costs 15 to 50 µs: under 5 % from here on. */
const SYNC_UP_TO_MS = 1;

/**
 * Awaiting runs that never leave this thread only queues microtasks, which would block timers and sockets for as long
 * as the caller loops.
 */
const BREATHE_AFTER_MS = 8;

const REMEMBERED_RUNS = 4;

/**
 * Runs bindings of one session and remembers how long they take. The shortest of the last few runs decides: a busy
 * machine only makes a run look longer than it is.
 */
export class RunPacer {
  readonly #recentMs: number[] = [];
  #lastBreathMs = 0;

  /** Undefined before the first run. */
  get typicalMs(): number | undefined {
    return this.#recentMs.length === 0 ? undefined : Math.min(...this.#recentMs);
  }

  /**
   * The choice that `auto` would make now. The first run is asynchronous, because it allocates what later runs reuse.
   */
  get choice(): "sync" | "async" {
    return (this.typicalMs ?? Number.POSITIVE_INFINITY) <= SYNC_UP_TO_MS ? "sync" : "async";
  }

  /** @throws what the binding's run throws */
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
