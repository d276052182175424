/**
 * Counts the uses of storages by identity and releases each storage after its last use. A value, a handle, a state
 * slot and a constant are one use each, so passing a storage on never copies it.
 */
export class StoragePool<T> {
  readonly #entries = new Map<T, { uses: number; readonly bytes: number }>();
  readonly #release: (data: T) => void;
  #bytes = 0;

  constructor(release: (data: T) => void) {
    this.#release = release;
  }

  /** Bytes of all storages in use. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds one use. `bytes` counts only for the first use, because a view in another dtype is the same memory. */
  retain(data: T, bytes: number): T {
    const entry = this.#entries.get(data);
    if (entry === undefined) {
      this.#entries.set(data, { uses: 1, bytes });
      this.#bytes += bytes;
    } else {
      entry.uses++;
    }
    return data;
  }

  /** Adds one use to a storage that is in use. */
  share(data: T): T {
    return this.retain(data, 0);
  }

  drop(data: T): void {
    const entry = this.#entries.get(data);
    if (entry === undefined)
      throw new Error("internal: a storage is dropped more often than it was retained");
    entry.uses--;
    if (entry.uses > 0) return;
    this.#entries.delete(data);
    this.#bytes -= entry.bytes;
    this.#release(data);
  }
}
