import type { Handle } from "../backend.js";
import { MpError } from "../errors.js";
import type { ValueType } from "../graph/graph.js";

/** The tensor of a handle, kept until the handle is disposed and every run that borrowed it has returned it. */
interface Held<T> {
  readonly tensor: T;
  uses: number;
}

/** A tensor that outlives its handle until it is returned, once. */
export interface Borrowed<T> {
  readonly tensor: T;
  readonly giveBack: () => void;
}

/** The handles that one backend has issued, and their tensors in the engine. */
export class HandleTable<T extends ValueType> {
  readonly #backend: string;
  readonly #release: (tensor: T) => void;
  readonly #live = new Map<object, Held<T>>();
  readonly #freed = new WeakSet<object>();

  /** `release` is called once for each tensor, after its last use; `backend` is the name for messages. */
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
   * The tensor of a handle; undefined for other values, such as host data.
   * @throws MP_DISPOSED; MP_INVALID_ARGUMENT for another backend's handle
   */
  find(value: unknown): T | undefined {
    return this.#find(value)?.tensor;
  }

  /** Like `find`, for a run that starts later. */
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
