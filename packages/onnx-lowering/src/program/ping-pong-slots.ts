import type { HostTensor, ValueType } from "@mp/graph";
import type { EngineMemory, EngineTensor } from "./engine-memory.js";

type Sides<T> = [T | undefined, T | undefined];

/** Slots whose buffers share one piece of memory, a separate one for each of the two sides. */
interface Group<T> {
  readonly slots: readonly string[];
  readonly wholes: Sides<T>;
}

/** One slot with two buffers. `side` is the index of the committed buffer; the next step writes the other buffer. */
interface Slot<T> {
  readonly type: ValueType;
  readonly buffers: Sides<T>;
  readonly group: Group<T> | undefined;
  side: 0 | 1;
}

type Tensors = Readonly<Record<string, HostTensor>>;

/**
 * Holds two buffers for each slot of a state. A step reads the committed buffer and writes the other, so a commit only
 * switches an index, and a rollback costs nothing. The second buffer is allocated when a step first writes it.
 */
export class PingPongSlots<T extends EngineTensor> {
  readonly #memory: EngineMemory<T>;
  readonly #slots = new Map<string, Slot<T>>();
  readonly #groups: readonly Group<T>[];

  /** @param adjacent groups of slots that `inPlace` passes as one array; ignored for device memory */
  constructor(memory: EngineMemory<T>, values: Tensors, adjacent: readonly (readonly string[])[]) {
    this.#memory = memory;
    const groups = memory.isOnHost ? adjacent : [];
    this.#groups = groups.map((slots) => ({ slots, wholes: [undefined, undefined] }));
    try {
      for (const [name, value] of Object.entries(values)) {
        const type = { dtype: value.dtype, shape: [...value.shape] };
        const group = this.#groups.find(({ slots }) => slots.includes(name));
        this.#slots.set(name, { type, buffers: [undefined, undefined], group, side: 0 });
      }
      for (const [name, value] of Object.entries(values)) this.#buffer(name, 0).write(value);
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** The committed buffer of a slot. */
  current(name: string): T {
    return this.#buffer(name, this.#slot(name).side);
  }

  /** The buffer of a slot that the next step writes. */
  next(name: string): T {
    return this.#buffer(name, otherSide(this.#slot(name).side));
  }

  /** Bytes of all allocated buffers, committed or not. */
  get bytes(): number {
    let sum = 0;
    for (const { buffers } of this.#slots.values())
      for (const buffer of buffers) sum += buffer?.byteLength ?? 0;
    return sum;
  }

  /** The index of the committed buffer, 0 or 1, of each named slot, joined to a string. */
  sides(names: readonly string[]): string {
    let text = "";
    for (const name of names) text += this.#slot(name).side;
    return text;
  }

  /** Commits the slots that a step wrote. */
  flip(written: readonly { readonly slot: string }[]): void {
    for (const { slot: name } of written) {
      const slot = this.#slot(name);
      slot.side = otherSide(slot.side);
    }
  }

  /** Downloads slots one by one, because a device does not run several copies at once. */
  async read(names: readonly string[]): Promise<Tensors> {
    const values: Record<string, HostTensor> = {};
    await this.#memory.expectSound();
    for (const name of names) values[name] = await this.current(name).download();
    await this.#memory.expectSound();
    return values;
  }

  write(values: Tensors): void {
    for (const [name, value] of Object.entries(values)) this.current(name).write(value);
  }

  /** Lets `change` modify the values of a group of slots in place. @param names all slots of the group */
  async inPlace(names: readonly string[], change: (values: Float32Array) => Promise<void>): Promise<void> {
    const slots = names.map((name) => this.#slot(name));
    const [first] = slots;
    if (first?.group === undefined) return change(new Float32Array());
    for (const [at, slot] of slots.entries()) {
      if (slot.side === first.side) continue;
      // A program replaced only some slots of the group.
      const name = names[at] as string;
      this.next(name).copyFrom(this.current(name));
      slot.side = first.side;
    }
    const whole = first.group.wholes[first.side] as T;
    await change(whole.view() as Float32Array);
  }

  release(): void {
    for (const { buffers } of this.#slots.values()) for (const buffer of buffers) buffer?.release();
    for (const { wholes } of this.#groups) for (const whole of wholes) whole?.release();
    this.#slots.clear();
  }

  #buffer(name: string, side: 0 | 1): T {
    const { buffers, type, group } = this.#slot(name);
    const known = buffers[side];
    if (known !== undefined) return known;
    if (group === undefined) {
      buffers[side] = this.#memory.allocate(type);
      return buffers[side];
    }
    const slots = group.slots.map((each) => this.#slot(each));
    const { whole, parts } = this.#memory.allocateAdjacent(slots.map((each) => each.type));
    group.wholes[side] = whole;
    for (const [at, part] of parts.entries()) (slots[at] as Slot<T>).buffers[side] = part;
    return buffers[side] as unknown as T;
  }

  #slot(name: string): Slot<T> {
    const slot = this.#slots.get(name);
    if (slot === undefined) throw new Error(`internal: the state has no slot ${name}`);
    return slot;
  }
}

const otherSide = (side: 0 | 1): 0 | 1 => (side === 0 ? 1 : 0);
