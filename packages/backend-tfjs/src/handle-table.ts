import { byteLength, type Handle, type HostTensor, MpError } from "@mp/core";
import type { TfjsBinding } from "./load/index.js";
import { copyOf, type WireTensor, wireTensor } from "./session/wire-tensor.js";

/** A tensor behind a handle, kept until its handle is gone and every run that takes it has taken it. */
interface Held {
  readonly type: Pick<HostTensor, "dtype" | "shape">;
  /** What has no elements stays on the host. */
  readonly wire: WireTensor | undefined;
  readonly empty: HostTensor | undefined;
  uses: number;
}

/** A tensor that is lent to a run until the function is called. */
export interface Borrowed {
  readonly type: Held["type"];
  readonly id: number | undefined;
  readonly giveBack: () => void;
}

/** The handles that one backend has given out. */
export class HandleTable {
  readonly #binding: TfjsBinding;
  readonly #live = new Map<object, Held>();
  readonly #freed = new WeakSet<object>();

  constructor(binding: TfjsBinding) {
    this.#binding = binding;
  }

  get size(): number {
    return this.#live.size;
  }

  get bytes(): number {
    return [...this.#live.values()].reduce((sum, { type }) => sum + byteLength(type), 0);
  }

  issue(value: HostTensor): Handle {
    const { dtype } = value;
    const shape = Object.freeze([...value.shape]);
    const isEmpty = value.data.length === 0;
    const held = {
      type: { dtype, shape },
      wire: isEmpty ? undefined : wireTensor(this.#binding, value),
      empty: isEmpty ? copyOf(value) : undefined,
      uses: 1,
    };
    const handle: Handle = Object.freeze({ dtype, shape, dispose: () => this.#dispose(handle) });
    this.#live.set(handle, held);
    return handle;
  }

  /** @throws MP_DISPOSED; MP_INVALID_ARGUMENT for what is no handle of this backend */
  read(handle: unknown): HostTensor {
    const held = this.#find(handle);
    if (held === undefined)
      throw new MpError("MP_INVALID_ARGUMENT", "download: takes a handle of this backend");
    return held.wire === undefined ? copyOf(held.empty as HostTensor) : held.wire.read();
  }

  /**
   * What is behind a handle, which it outlives until it is given back; undefined for what is none of this backend's,
   * such as host data.
   * @throws MP_DISPOSED; MP_INVALID_ARGUMENT for another backend's handle
   */
  borrow(value: unknown): Borrowed | undefined {
    const held = this.#find(value);
    if (held === undefined) return undefined;
    held.uses++;
    return { type: held.type, id: held.wire?.id, giveBack: () => drop(held) };
  }

  disposeAll(): void {
    for (const handle of [...this.#live.keys()]) this.#dispose(handle);
  }

  #find(value: unknown): Held | undefined {
    if (typeof value !== "object" || value === null) return undefined;
    const held = this.#live.get(value);
    if (held !== undefined) return held;
    if (this.#freed.has(value)) throw new MpError("MP_DISPOSED", "tfjs: the handle has been disposed");
    if ("dispose" in value && !("data" in value)) {
      throw new MpError("MP_INVALID_ARGUMENT", "tfjs: the handle belongs to another backend");
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
  if (held.uses === 0) held.wire?.release();
}
