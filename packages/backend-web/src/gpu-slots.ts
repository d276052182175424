import type { HostTensor } from "@mp/graph";
import type { GpuMemory, GpuTensor } from "./gpu-memory.js";

/** One slot with two buffers. `side` is the index of the committed buffer; the next step writes the other buffer. */
interface Slot {
  readonly buffers: [GpuTensor, GpuTensor | undefined];
  side: 0 | 1;
}

type Tensors = Readonly<Record<string, HostTensor>>;

/**
 * Holds a state's slots in two GPU buffers each. A step reads one buffer of a slot and writes the other, so a commit
 * only exchanges their roles. The second buffer is allocated when a program first writes the slot.
 */
export class GpuSlots {
  readonly #memory: GpuMemory;
  readonly #slots = new Map<string, Slot>();

  constructor(memory: GpuMemory, values: Tensors) {
    this.#memory = memory;
    try {
      for (const [name, value] of Object.entries(values)) {
        const buffer = memory.allocate(value);
        this.#slots.set(name, { buffers: [buffer, undefined], side: 0 });
        memory.write(buffer, value);
      }
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** The committed buffer. */
  current(name: string): GpuTensor {
    const { buffers, side } = this.#slot(name);
    return buffers[side] as GpuTensor;
  }

  /** The buffer that a step writes. */
  next(name: string): GpuTensor {
    const slot = this.#slot(name);
    const other = slot.side === 0 ? 1 : 0;
    slot.buffers[other] ??= this.#memory.allocate(slot.buffers[slot.side] as GpuTensor);
    return slot.buffers[other];
  }

  /** Bytes of all buffers that are allocated, one or two per slot. */
  get bytes(): number {
    let sum = 0;
    for (const { buffers } of this.#slots.values()) for (const one of buffers) sum += one?.buffer.size ?? 0;
    return sum;
  }

  /** Commits the slots that a step wrote. */
  flip(written: readonly { readonly slot: string }[]): void {
    for (const { slot: name } of written) {
      const slot = this.#slot(name);
      slot.side = slot.side === 0 ? 1 : 0;
    }
  }

  async read(names: readonly string[]): Promise<Tensors> {
    const values = await this.#memory.read(names.map((name) => this.current(name)));
    return Object.fromEntries(names.map((name, index) => [name, values[index] as HostTensor]));
  }

  write(values: Tensors): void {
    for (const [name, value] of Object.entries(values)) this.#memory.write(this.current(name), value);
  }

  release(): void {
    for (const { buffers } of this.#slots.values())
      for (const one of buffers) if (one !== undefined) this.#memory.release(one);
    this.#slots.clear();
  }

  #slot(name: string): Slot {
    const slot = this.#slots.get(name);
    if (slot === undefined) throw new Error(`internal: the state has no slot ${name}`);
    return slot;
  }
}
