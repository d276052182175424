/** Runs pieces of work one after another, in the order in which they were pushed; a failure stops only itself. */
export class WorkQueue {
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Whether nothing runs or waits: a piece pushed now is the next to run. */
  get isIdle(): boolean {
    return this.#waiting === 0;
  }

  push<R>(work: () => Promise<R>): Promise<R> {
    this.#waiting++;
    const result = this.#tail.then(work);
    const done = (): void => {
      this.#waiting--;
    };
    this.#tail = result.then(done, done);
    return result;
  }
}
