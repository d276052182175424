import { type Handle, MpError } from "@mp/core";
import type { NativeTensor } from "./native/index.js";

/** A tensor behind a handle, kept until its handle is gone and every run that takes it has taken it. */
interface Held {
  readonly tensor: NativeTensor;
  uses: number;
}

/** The handles that one backend has given out. */
export class HandleTable {
  readonly #live = new Map<object, Held>();
  readonly #freed = new WeakSet<object>();

  get size(): number {
    return this.#live.size;
  }

  issue(tensor: NativeTensor): Handle {
    const { dtype, shape } = tensor;
    const handle: Handle = Object.freeze({ dtype, shape, dispose: () => this.#dispose(handle) });
    this.#live.set(handle, { tensor, uses: 1 });
    return handle;
  }

  /**
   * What is behind a handle; undefined for what is none of this backend's, such as host data.
   * @throws MP_DISPOSED; MP_INVALID_ARGUMENT for another backend's handle
   */
  find(value: unknown): NativeTensor | undefined {
    return this.#find(value)?.tensor;
  }

  /** As `find`, and the tensor outlives its handle until the returned function is called. */
  borrow(value: unknown): { readonly tensor: NativeTensor; readonly giveBack: () => void } | undefined {
    const held = this.#find(value);
    if (held === undefined) return undefined;
    held.uses++;
    return { tensor: held.tensor, giveBack: () => drop(held) };
  }

  disposeAll(): void {
    for (const handle of [...this.#live.keys()]) this.#dispose(handle);
  }

  #find(value: unknown): Held | undefined {
    if (typeof value !== "object" || value === null) return undefined;
    const held = this.#live.get(value);
    if (held !== undefined) return held;
    if (this.#freed.has(value)) throw new MpError("MP_DISPOSED", "ort: the handle has been disposed");
    if ("dispose" in value && !("data" in value)) {
      throw new MpError("MP_INVALID_ARGUMENT", "ort: the handle belongs to another backend");
    }
    return undefined;
  }

  #dispose(handle: object): void {
    const held = this.#find(handle);
    if (held === undefined) throw new Error("internal: a handle that was never issued");
    this.#live.delete(handle);
    this.#freed.add(handle);
    drop(held);
  }
}

function drop(held: Held): void {
  held.uses--;
  if (held.uses === 0) held.tensor.release();
}
