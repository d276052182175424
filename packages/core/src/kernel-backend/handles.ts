import type { Handle } from "../backend.js";
import { MpError } from "../errors.js";
import type { ValueType } from "../graph/graph.js";
import type { Engine } from "./engine.js";
import type { KernelTensor } from "./kernel.js";

/** The handles that one backend has given out, and what is behind them. */
export class HandleTable<T> {
  readonly #engine: Engine<T>;
  readonly #live = new Map<object, KernelTensor<T>>();
  readonly #freed = new WeakSet<object>();

  constructor(engine: Engine<T>) {
    this.#engine = engine;
  }

  get size(): number {
    return this.#live.size;
  }

  /** A handle that owns one use of the storage, which the caller passes on. */
  issue({ dtype, shape }: ValueType, data: T): Handle {
    const handle: Handle = Object.freeze({
      dtype,
      shape: Object.freeze([...shape]),
      dispose: () => this.#dispose(handle),
    });
    this.#live.set(handle, { dtype, shape: handle.shape, data });
    return handle;
  }

  /**
   * What is behind a handle; undefined for what is none of this backend's, such as host data.
   * @throws MP_DISPOSED; MP_INVALID_ARGUMENT for another backend's handle
   */
  find(value: unknown): KernelTensor<T> | undefined {
    if (typeof value !== "object" || value === null) return undefined;
    const known = this.#live.get(value);
    if (known !== undefined) return known;
    if (this.#freed.has(value)) throw this.#engine.disposed("the handle");
    if ("dispose" in value && !("data" in value)) {
      throw new MpError("MP_INVALID_ARGUMENT", `${this.#engine.name}: the handle belongs to another backend`);
    }
    return undefined;
  }

  disposeAll(): void {
    for (const handle of [...this.#live.keys()]) this.#dispose(handle);
  }

  #dispose(handle: object): void {
    const known = this.find(handle);
    if (known === undefined) throw new Error("internal: a handle that was never issued");
    this.#live.delete(handle);
    this.#freed.add(handle);
    this.#engine.pool.drop(known.data);
  }
}
