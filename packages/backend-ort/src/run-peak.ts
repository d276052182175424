import { arenaStats, type NativeSession } from "./native/index.js";

/** Runs begun in this process, which share the arena, and those under way. */
let begun = 0;
let underWay = 0;

/**
 * What one program's runs take of the arena that all programs share. The arena keeps no peak for each, only the
 * highest that it has seen, so a run is measured if it sets a new record. Every run of a program takes the same,
 * so that the first one that has the arena to itself tells.
 */
export class RunPeak {
  readonly #session: NativeSession;
  #bytes: number | undefined;
  #isSettled = false;

  constructor(session: NativeSession) {
    this.#session = session;
  }

  /** Most bytes of intermediate values at once; undefined when another program has had a higher peak. */
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
