import { byteLength, type HostTensor, MpError, type State, type ValueType } from "@mp/core";
import { expectHostTensor, expectType, WorkQueue } from "@mp/core/backend";
import type { TfjsBinding } from "./load/index.js";
import { ProgramSet } from "./session/program-set.js";
import { copyOf } from "./session/wire-tensor.js";

/** Named tensors in variables of one TensorFlow session, in which everything compiled for them runs. */
export class TfjsState implements State {
  readonly types: Readonly<Record<string, ValueType>>;
  /** Runs, reads and writes take turns. */
  readonly queue: WorkQueue = new WorkQueue();
  readonly programs: ProgramSet;
  readonly #onDispose: (state: TfjsState) => void;
  #disposal: Promise<void> | undefined;

  constructor(
    binding: TfjsBinding,
    values: Readonly<Record<string, HostTensor>>,
    onDispose: (state: TfjsState) => void,
  ) {
    this.#onDispose = onDispose;
    const checked = Object.entries(values).map(
      ([name, value]) => [name, expectHostTensor(`state "${name}"`, value)] as const,
    );
    this.types = Object.freeze(
      Object.fromEntries(checked.map(([name, { dtype, shape }]) => [name, { dtype, shape: [...shape] }])),
    );
    this.programs = new ProgramSet(binding, new Map(checked));
  }

  get isDisposed(): boolean {
    return this.#disposal !== undefined;
  }

  get bytes(): number {
    return Object.values(this.types).reduce((sum, type) => sum + byteLength(type), 0);
  }

  async read(names?: readonly string[]): Promise<Readonly<Record<string, HostTensor>>> {
    this.expectAlive();
    const wanted = [...new Set(names ?? Object.keys(this.types))];
    for (const name of wanted) this.#expectSlot(name);
    return this.queue.push(async () => Object.fromEntries(this.programs.read(wanted)));
  }

  async write(values: Readonly<Record<string, HostTensor>>): Promise<void> {
    this.expectAlive();
    const checked = Object.entries(values).map(([name, value]) => {
      expectType(`state "${name}"`, expectHostTensor(`state "${name}"`, value), this.#expectSlot(name));
      // What is written is what the caller's arrays hold now, also when runs come first.
      return [name, copyOf(value)] as const;
    });
    return this.queue.push(async () => this.programs.write(checked));
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

  #expectSlot(name: string): ValueType {
    const type = Object.hasOwn(this.types, name) ? this.types[name] : undefined;
    if (type === undefined) {
      throw new MpError("MP_INVALID_ARGUMENT", `state: there is no "${name}"`, { details: { name } });
    }
    return type;
  }
}
