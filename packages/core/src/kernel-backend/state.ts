import type { State } from "../backend.js";
import type { ValueType } from "../graph/graph.js";
import type { HostTensor } from "../host-tensor.js";
import type { Engine } from "./engine.js";
import type { KernelTensor } from "./kernel.js";
import { StateTypes } from "./state-types.js";
import { WorkQueue } from "./work-queue.js";

/**
 * Named storages that runs replace: a commit swaps storages and never copies. Reads and writes are queued with the
 * runs.
 */
export class KernelState<T> implements State {
  readonly queue: WorkQueue = new WorkQueue();
  readonly #types: StateTypes;
  readonly #engine: Engine<T>;
  readonly #slots: Map<string, KernelTensor<T>>;
  readonly #onDispose: () => void;
  #disposal: Promise<void> | undefined;

  private constructor(
    types: StateTypes,
    engine: Engine<T>,
    slots: Map<string, KernelTensor<T>>,
    onDispose: () => void,
  ) {
    this.#types = types;
    this.#engine = engine;
    this.#slots = slots;
    this.#onDispose = onDispose;
  }

  get types(): Readonly<Record<string, ValueType>> {
    return this.#types.byName;
  }

  static async create<T>(
    engine: Engine<T>,
    values: Readonly<Record<string, HostTensor>>,
    onDispose: () => void,
  ): Promise<KernelState<T>> {
    return new KernelState(new StateTypes(values), engine, await uploadAll(engine, values), onDispose);
  }

  get isDisposed(): boolean {
    return this.#disposal !== undefined;
  }

  /** The committed storage; valid until the next commit unless the caller shares it. */
  current(name: string): KernelTensor<T> {
    const slot = this.#slots.get(name);
    if (slot === undefined) throw new Error(`internal: the state has no slot ${name}`);
    return slot;
  }

  /** Replaces the committed storages, all at once. The state counts as one use of each. */
  commit(values: ReadonlyMap<string, KernelTensor<T>>): void {
    for (const { data } of values.values()) this.#engine.pool.share(data);
    this.#exchange(values);
  }

  async read(names?: readonly string[]): Promise<Readonly<Record<string, HostTensor>>> {
    this.#expectAlive();
    const wanted = this.#types.reading(names);
    return this.queue.push(async () => {
      const read: [string, HostTensor][] = [];
      for (const name of wanted) {
        const slot = this.current(name);
        read.push([name, await this.#engine.download(slot.data, slot)]);
      }
      return Object.fromEntries(read);
    });
  }

  async write(values: Readonly<Record<string, HostTensor>>): Promise<void> {
    this.#expectAlive();
    const uploading = uploadAll(this.#engine, Object.fromEntries(this.#types.writing(values)));
    uploading.catch(() => undefined);
    return this.queue.push(async () => this.#exchange(await uploading));
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.queue.push(async () => {
      for (const { data } of this.#slots.values()) this.#engine.pool.drop(data);
      this.#slots.clear();
      this.#onDispose();
    });
    return this.#disposal;
  }

  #exchange(values: ReadonlyMap<string, KernelTensor<T>>): void {
    for (const [name, value] of values) {
      const old = this.current(name);
      this.#slots.set(name, value);
      this.#engine.pool.drop(old.data);
    }
  }

  #expectAlive(): void {
    if (this.isDisposed) throw this.#engine.disposed("the state");
  }
}

/** Uploads all of the tensors, or none. */
async function uploadAll<T>(
  engine: Engine<T>,
  values: Readonly<Record<string, HostTensor>>,
): Promise<Map<string, KernelTensor<T>>> {
  const uploads = Object.entries(values).map(
    async ([name, tensor]) =>
      [name, { dtype: tensor.dtype, shape: [...tensor.shape], data: await engine.upload(tensor) }] as const,
  );
  const settled = await Promise.allSettled(uploads);
  const failed = settled.find((result) => result.status === "rejected");
  const done = settled.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  if (failed === undefined) return new Map(done);
  for (const [, { data }] of done) engine.pool.drop(data);
  throw failed.reason;
}
