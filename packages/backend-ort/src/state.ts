import { type HostTensor, MpError, type State, type ValueType } from "@mp/core";
import { expectHostTensor, expectType, WorkQueue } from "@mp/core/backend";
import type { NativeRuntime, NativeTensor } from "./native/index.js";

/** One slot: the committed buffer, and the one that the next step writes. */
interface Slot {
  readonly type: ValueType;
  readonly buffers: [NativeTensor, NativeTensor | undefined];
  side: 0 | 1;
}

/**
 * Named tensors in ping-pong buffers. A step reads one side and writes the other, so committing is choosing a
 * side, and rolling back costs nothing. The second side is allocated when a program first writes the slot.
 */
export class OrtState implements State {
  readonly types: Readonly<Record<string, ValueType>>;
  /** Runs, reads and writes take turns. */
  readonly queue: WorkQueue = new WorkQueue();
  readonly #runtime: NativeRuntime;
  readonly #slots: Map<string, Slot>;
  readonly #onDispose: (state: OrtState) => void;
  #disposal: Promise<void> | undefined;

  constructor(
    runtime: NativeRuntime,
    values: Readonly<Record<string, HostTensor>>,
    onDispose: (state: OrtState) => void,
  ) {
    this.#runtime = runtime;
    this.#onDispose = onDispose;
    const checked = Object.entries(values).map(
      ([name, value]) => [name, expectHostTensor(`state "${name}"`, value)] as const,
    );
    this.#slots = new Map();
    this.types = Object.freeze(
      Object.fromEntries(checked.map(([name, { dtype, shape }]) => [name, { dtype, shape: [...shape] }])),
    );
    for (const [name, value] of checked) {
      const { dtype, shape } = value;
      this.#slots.set(name, { type: { dtype, shape }, buffers: [runtime.upload(value), undefined], side: 0 });
    }
  }

  get isDisposed(): boolean {
    return this.#disposal !== undefined;
  }

  side(name: string): 0 | 1 {
    return this.#slot(name).side;
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

  /** Makes what a step wrote the committed value. */
  flip(names: readonly string[]): void {
    for (const name of names) {
      const slot = this.#slot(name);
      slot.side = slot.side === 0 ? 1 : 0;
    }
  }

  async read(names?: readonly string[]): Promise<Readonly<Record<string, HostTensor>>> {
    this.expectAlive();
    const wanted = names ?? Object.keys(this.types);
    for (const name of wanted) this.#expectSlot(name);
    return this.queue.push(async () =>
      Object.fromEntries(wanted.map((name) => [name, this.current(name).read()])),
    );
  }

  async write(values: Readonly<Record<string, HostTensor>>): Promise<void> {
    this.expectAlive();
    const checked = Object.entries(values).map(([name, value]) => {
      expectType(`state "${name}"`, expectHostTensor(`state "${name}"`, value), this.#expectSlot(name));
      return [name, value] as const;
    });
    return this.queue.push(async () => {
      for (const [name, value] of checked) this.current(name).write(value);
    });
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.queue.push(async () => {
      for (const { buffers } of this.#slots.values()) for (const buffer of buffers) buffer?.release();
      this.#slots.clear();
      this.#onDispose(this);
    });
    return this.#disposal;
  }

  /** @throws MP_DISPOSED */
  expectAlive(): void {
    if (this.isDisposed) throw new MpError("MP_DISPOSED", "ort: the state has been disposed");
  }

  #slot(name: string): Slot {
    const slot = this.#slots.get(name);
    if (slot === undefined) throw new Error(`internal: the state has no slot ${name}`);
    return slot;
  }

  #expectSlot(name: string): ValueType {
    const type = Object.hasOwn(this.types, name) ? this.types[name] : undefined;
    if (type === undefined) {
      throw new MpError("MP_INVALID_ARGUMENT", `state: there is no "${name}"`, { details: { name } });
    }
    return type;
  }
}
