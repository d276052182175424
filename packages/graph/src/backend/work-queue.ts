/**
 * Runs pieces of work one after another, in the order in which they were pushed; a failure does not stop later work.
 */
export class WorkQueue {
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** True if the queue is idle, so that work pushed now runs next. */
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
