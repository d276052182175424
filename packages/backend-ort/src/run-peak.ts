import { arenaStats, type NativeSession } from "./native/index.js";

/** Number of runs that this process has begun; all share the arena. */
let begun = 0;
/** Number of runs under way. */
let underWay = 0;

/**
 * Measures how much of the shared arena one program's runs use. The arena keeps no peak per program, only its overall
 * maximum, so a run is measured only if it sets a new maximum. Every run of a program uses the same amount, so the
 * first run that has the arena to itself is enough.
 */
export class RunPeak {
  readonly #session: NativeSession;
  #bytes: number | undefined;
  #isSettled = false;

  constructor(session: NativeSession) {
    this.#session = session;
  }

  /** Peak of intermediate values in bytes; undefined if another program's peak was higher. */
  get bytes(): number | undefined {
    return this.#bytes;
  }

  async watch(run: () => Promise<void>): Promise<void> {
    const before = this.#isSettled || underWay > 0 ? undefined : arenaStats(this.#session);
    const turn = ++begun;
    underWay++;
    try {
      await run();
    } finally {
      underWay--;
    }
    if (before === undefined || begun !== turn) return;
    this.#isSettled = true;
    const highest = arenaStats(this.#session)?.maxBytesInUse ?? 0;
    if (highest > before.maxBytesInUse) this.#bytes = highest - before.bytesInUse;
  }
}
