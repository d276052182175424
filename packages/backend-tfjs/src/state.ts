import { type HostTensor, MpError } from "@mp/core";
import { type State, StateTypes, WorkQueue } from "@mp/core/backend";
import { byteLength, type ValueType } from "@mp/core/graph";
import type { TfjsBinding } from "./load/index.js";
import { ProgramSet } from "./session/program-set.js";
import { copyOf } from "./session/wire-tensor.js";

/** Named tensors in variables of one TensorFlow session, in which every program compiled for them runs. */
export class TfjsState implements State {
  /** Runs, reads and writes take turns. */
  readonly queue: WorkQueue = new WorkQueue();
  readonly programs: ProgramSet;
  readonly #types: StateTypes;
  readonly #onDispose: (state: TfjsState) => void;
  #disposal: Promise<void> | undefined;

  constructor(
    binding: TfjsBinding,
    values: Readonly<Record<string, HostTensor>>,
    onDispose: (state: TfjsState) => void,
  ) {
    this.#onDispose = onDispose;
    this.#types = new StateTypes(values);
    this.programs = new ProgramSet(binding, new Map(Object.entries(values)));
  }

  get types(): Readonly<Record<string, ValueType>> {
    return this.#types.byName;
  }

  get isDisposed(): boolean {
    return this.#disposal !== undefined;
  }

  get bytes(): number {
    return Object.values(this.types).reduce((sum, type) => sum + byteLength(type), 0);
  }

  async read(names?: readonly string[]): Promise<Readonly<Record<string, HostTensor>>> {
    this.expectAlive();
    const wanted = this.#types.reading(names);
    return this.queue.push(async () => Object.fromEntries(this.programs.read(wanted)));
  }

  async write(values: Readonly<Record<string, HostTensor>>): Promise<void> {
    this.expectAlive();
    // Writes what the caller's arrays hold now, even when queued runs come first.
    const kept = this.#types.writing(values).map(([name, value]) => [name, copyOf(value)] as const);
    return this.queue.push(async () => this.programs.write(kept));
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.queue.push(async () => {
      this.programs.dispose();
      this.#onDispose(this);
    });
    return this.#disposal;
  }

  /** @throws MP_DISPOSED */
  expectAlive(): void {
    if (this.isDisposed) throw new MpError("MP_DISPOSED", "tfjs: the state has been disposed");
  }
}
