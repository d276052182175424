import { type HostTensor, MpError } from "@mp/core";
import { type State, StateTypes, WorkQueue } from "@mp/core/backend";
import type { ValueType } from "@mp/core/graph";
import { copyOf } from "./feed-buffers.js";
import type { NativeRuntime, NativeTensor } from "./native/index.js";

/** One slot: the committed buffer, and the buffer that the next step writes. */
interface Slot {
  readonly type: ValueType;
  readonly buffers: [NativeTensor, NativeTensor | undefined];
  side: 0 | 1;
}

/**
 * Named tensors in ping-pong buffers. A step reads one side and writes the other, so a commit only selects a side, and
 * a rollback costs nothing. The second side is allocated when a program first writes the slot.
 */
export class OrtState implements State {
  /** Runs, reads and writes take turns. */
  readonly queue: WorkQueue = new WorkQueue();
  readonly #runtime: NativeRuntime;
  readonly #types: StateTypes;
  readonly #slots: Map<string, Slot>;
  readonly #onDispose: (state: OrtState) => void;
  /** Callbacks of other holders of the buffers, which release them when the state ends. */
  readonly #dependents = new Set<() => void>();
  #disposal: Promise<void> | undefined;

  constructor(
    runtime: NativeRuntime,
    values: Readonly<Record<string, HostTensor>>,
    onDispose: (state: OrtState) => void,
  ) {
    this.#runtime = runtime;
    this.#onDispose = onDispose;
    this.#types = new StateTypes(values);
    this.#slots = new Map();
    try {
      for (const [name, value] of Object.entries(values)) {
        const type = this.types[name] as ValueType;
        this.#slots.set(name, { type, buffers: [runtime.upload(value), undefined], side: 0 });
      }
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  get types(): Readonly<Record<string, ValueType>> {
    return this.#types.byName;
  }

  get isDisposed(): boolean {
    return this.#disposal !== undefined;
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

  /** Calls back when the state ends, before its memory is freed; the returned function removes the callback. */
  beforeDisposal(letGo: () => void): () => void {
    this.#dependents.add(letGo);
    return () => this.#dependents.delete(letGo);
  }

  /** Makes what a step wrote the committed value. */
  flip(written: readonly { readonly slot: string }[]): void {
    for (const { slot: name } of written) {
      const slot = this.#slot(name);
      slot.side = slot.side === 0 ? 1 : 0;
    }
  }

  async read(names?: readonly string[]): Promise<Readonly<Record<string, HostTensor>>> {
    this.expectAlive();
    const wanted = this.#types.reading(names);
    return this.queue.push(async () =>
      Object.fromEntries(wanted.map((name) => [name, this.current(name).read()])),
    );
  }

  async write(values: Readonly<Record<string, HostTensor>>): Promise<void> {
    this.expectAlive();
    const given = this.#types.writing(values);
    const writeAll = (all: typeof given): void => {
      for (const [name, value] of all) this.current(name).write(value);
    };
    if (this.queue.isIdle) return writeAll(given);
    // Writes what the caller's arrays hold now, even when queued runs come first.
    const kept = given.map(([name, value]) => [name, copyOf(value)] as const);
    return this.queue.push(async () => writeAll(kept));
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.queue.push(async () => {
      for (const letGo of this.#dependents) letGo();
      this.#release();
      this.#onDispose(this);
    });
    return this.#disposal;
  }

  #release(): void {
    for (const { buffers } of this.#slots.values()) for (const buffer of buffers) buffer?.release();
    this.#slots.clear();
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
}
