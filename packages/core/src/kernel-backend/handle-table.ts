import type { Handle } from "../backend.js";
import { MpError } from "../errors.js";
import type { ValueType } from "../graph/graph.js";

/** A tensor behind a handle, kept until its handle is gone and every run that has borrowed it has given it back. */
interface Held<T> {
  readonly tensor: T;
  uses: number;
}

/** A tensor that outlives its handle until it is given back, once. */
export interface Borrowed<T> {
  readonly tensor: T;
  readonly giveBack: () => void;
}

/** The handles that one backend has given out, and the engine's tensors behind them. */
export class HandleTable<T extends ValueType> {
  readonly #backend: string;
  readonly #release: (tensor: T) => void;
  readonly #live = new Map<object, Held<T>>();
  readonly #freed = new WeakSet<object>();

  /** `release` is called once for each tensor, after its last use; `backend` is how messages name it. */
  constructor(backend: string, release: (tensor: T) => void) {
    this.#backend = backend;
    this.#release = release;
  }

  /** Handles that have not been disposed. */
  get size(): number {
    return this.#live.size;
  }

  /** A handle that owns the tensor. */
  issue(tensor: T): Handle {
    const { dtype, shape } = tensor;
    const handle: Handle = Object.freeze({ dtype, shape, dispose: () => this.#dispose(handle) });
    this.#live.set(handle, { tensor, uses: 1 });
    return handle;
  }

  /**
   * What is behind a handle; undefined for what is none of this backend's, such as host data.
   * @throws MP_DISPOSED; MP_INVALID_ARGUMENT for another backend's handle
   */
  find(value: unknown): T | undefined {
    return this.#find(value)?.tensor;
  }

  /** As `find`, for a run that comes later. */
  borrow(value: unknown): Borrowed<T> | undefined {
    const held = this.#find(value);
    if (held === undefined) return undefined;
    held.uses++;
    return { tensor: held.tensor, giveBack: () => this.#drop(held) };
  }

  disposeAll(): void {
    for (const handle of [...this.#live.keys()]) this.#dispose(handle);
  }

  #find(value: unknown): Held<T> | undefined {
    if (typeof value !== "object" || value === null) return undefined;
    const held = this.#live.get(value);
    if (held !== undefined) return held;
    if (this.#freed.has(value)) {
      throw new MpError("MP_DISPOSED", `${this.#backend}: the handle has been disposed`);
    }
    if ("dispose" in value && !("data" in value)) {
      throw new MpError("MP_INVALID_ARGUMENT", `${this.#backend}: the handle belongs to another backend`);
    }
    return undefined;
  }

  #dispose(handle: object): void {
    const held = this.#find(handle);
    if (held === undefined) throw new Error("internal: a handle that was never issued");
    this.#live.delete(handle);
    this.#freed.add(handle);
    this.#drop(held);
  }

  #drop(held: Held<T>): void {
    held.uses--;
    if (held.uses === 0) this.#release(held.tensor);
  }
}
