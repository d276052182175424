import type { Handle } from "../contract/backend.js";
import { invalid, MpError } from "../errors.js";
import type { ValueType } from "../graph/graph.js";
import { callAll } from "./call-all.js";

/** The handles that one backend has issued, and their tensors in the engine. */
export class HandleTable<T extends ValueType> {
  readonly #backend: string;
  readonly #release: (tensor: T) => void;
  readonly #live = new Map<object, T>();
  readonly #freed = new WeakSet<object>();

  /** `release` is called once for each tensor, when its handle is disposed; `backend` is the name for messages. */
  constructor(backend: string, release: (tensor: T) => void) {
    this.#backend = backend;
    this.#release = release;
  }

  /** Handles that have not been disposed. */
  get size(): number {
    return this.#live.size;
  }

  /** Returns a new handle, which owns the tensor. */
  issue(tensor: T): Handle {
    const { dtype, shape } = tensor;
    const handle: Handle = Object.freeze({ dtype, shape, dispose: () => this.#dispose(handle) });
    this.#live.set(handle, tensor);
    return handle;
  }

  /**
   * The tensor of a handle; undefined for other values, such as host data.
   * @throws MP_DISPOSED; MP_INVALID_ARGUMENT for another backend's handle
   */
  find(value: unknown): T | undefined {
    if (typeof value !== "object" || value === null) return undefined;
    const held = this.#live.get(value);
    if (held !== undefined) return held;
    if (this.#freed.has(value)) {
      throw new MpError("MP_DISPOSED", `${this.#backend}: the handle has been disposed`);
    }
    if ("dispose" in value && !("data" in value)) {
      throw invalid(`${this.#backend}: the handle belongs to another backend`);
    }
    return undefined;
  }

  disposeAll(): void {
    callAll([...this.#live.keys()].map((handle) => () => this.#dispose(handle)));
  }

  #dispose(handle: object): void {
    const held = this.find(handle);
    if (held === undefined) throw new Error("internal: a handle that was never issued");
    this.#live.delete(handle);
    this.#freed.add(handle);
    this.#release(held);
  }
}
