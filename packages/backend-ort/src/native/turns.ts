/**
 * Serializes the use of a device. A provider whose sessions share one queue of commands and one cache of buffers does
 * not lock these. So runs, copies, allocations and releases must not overlap, even those of different sessions.
 */
export interface Turns {
  /** True if the device is free and no work waits for it, so that new work is done at once. */
  readonly isFree: boolean;
  /** Does work after all earlier work, or at once on a free device. Work in a turn must not wait for another turn. */
  take<R>(work: () => R | Promise<R>): R | Promise<R>;
}

/** Turns for an engine that accepts calls from any thread at any time. */
export const NO_TURNS: Turns = { isFree: true, take: (work) => work() };

export class SerialTurns implements Turns {
  #tail: Promise<unknown> = Promise.resolve();
  #unfinished = 0;

  get isFree(): boolean {
    return this.#unfinished === 0;
  }

  take<R>(work: () => R | Promise<R>): R | Promise<R> {
    if (!this.isFree) return this.#hold(this.#tail.then(work));
    const result = work();
    return result instanceof Promise ? this.#hold(result) : result;
  }

  #hold<R>(result: Promise<R>): Promise<R> {
    this.#unfinished++;
    const done = (): void => {
      this.#unfinished--;
    };
    this.#tail = result.then(done, done);
    return result;
  }
}
