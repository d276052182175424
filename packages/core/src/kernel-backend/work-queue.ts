/** Runs pieces of work one after another, in the order in which they were pushed; a failure stops only itself. */
export class WorkQueue {
  #tail: Promise<unknown> = Promise.resolve();

  push<R>(work: () => Promise<R>): Promise<R> {
    const result = this.#tail.then(work);
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** Resolves when everything that has been pushed so far is done. */
  async idle(): Promise<void> {
    await this.#tail;
  }
}
