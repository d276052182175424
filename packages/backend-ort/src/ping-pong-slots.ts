import type { HostTensor } from "@mp/core";
import type { ValueType } from "@mp/core/graph";
import type { NativeRuntime, NativeTensor } from "./native/index.js";

/** One slot: the committed buffer, and the buffer that the next step writes. */
interface Slot {
  readonly type: ValueType;
  readonly buffers: [NativeTensor, NativeTensor | undefined];
  side: 0 | 1;
}

type Tensors = Readonly<Record<string, HostTensor>>;

/**
 * The slots of a state in ping-pong buffers. A step reads one side and writes the other, so a commit only selects a
 * side, and a rollback costs nothing. The second side is allocated when a program first writes the slot.
 */
export class PingPongSlots {
  readonly #runtime: NativeRuntime;
  readonly #slots = new Map<string, Slot>();

  constructor(runtime: NativeRuntime, values: Tensors) {
    this.#runtime = runtime;
    try {
      for (const [name, value] of Object.entries(values)) {
        const type = { dtype: value.dtype, shape: [...value.shape] };
        this.#slots.set(name, { type, buffers: [runtime.upload(value), undefined], side: 0 });
      }
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** The committed buffer. */
  current(name: string): NativeTensor {
    const { buffers, side } = this.#slot(name);
    return buffers[side] as NativeTensor;
  }

  /** The buffer that a step writes. */
  next(name: string): NativeTensor {
    const slot = this.#slot(name);
    const other = slot.side === 0 ? 1 : 0;
    slot.buffers[other] ??= this.#runtime.allocate(slot.type);
    return slot.buffers[other];
  }

  /** Bytes of both sides, as far as they are allocated. */
  get bytes(): number {
    let sum = 0;
    for (const { buffers } of this.#slots.values())
      for (const buffer of buffers) sum += buffer?.byteLength ?? 0;
    return sum;
  }

  /** Which side each of those slots is on, as text. */
  sides(names: readonly string[]): string {
    let text = "";
    for (const name of names) text += this.#slot(name).side;
    return text;
  }

  /** Makes what a step wrote the committed value. */
  flip(written: readonly { readonly slot: string }[]): void {
    for (const { slot: name } of written) {
      const slot = this.#slot(name);
      slot.side = slot.side === 0 ? 1 : 0;
    }
  }

  /** One after another: a device does not take several copies at once. */
  async read(names: readonly string[]): Promise<Tensors> {
    const values: Record<string, HostTensor> = {};
    await this.#runtime.expectSound();
    for (const name of names) values[name] = await this.current(name).download();
    await this.#runtime.expectSound();
    return values;
  }

  write(values: Tensors): void {
    for (const [name, value] of Object.entries(values)) this.current(name).write(value);
  }

  release(): void {
    for (const { buffers } of this.#slots.values()) for (const buffer of buffers) buffer?.release();
    this.#slots.clear();
  }

  #slot(name: string): Slot {
    const slot = this.#slots.get(name);
    if (slot === undefined) throw new Error(`internal: the state has no slot ${name}`);
    return slot;
  }
}
