import type { HostTensor } from "../host/host-tensor.js";
import type { Named, StateFunctions } from "./hooks.js";
import type { Storages, Stored } from "./storages.js";

/** A state whose values are storages. `exchange` swaps them without a copy; each slot is one use of its storage. */
export class Slots<T> {
  readonly #storages: Storages<T>;
  readonly #byName: Map<string, Stored<T>>;

  private constructor(storages: Storages<T>, byName: Map<string, Stored<T>>) {
    this.#storages = storages;
    this.#byName = byName;
  }

  static async create<T>(storages: Storages<T>, values: Named<HostTensor>): Promise<Slots<T>> {
    return new Slots(storages, await storages.uploadAll(Object.entries(values)));
  }

  /** The committed storage. The next commit drops it; add a use to keep it longer. */
  current(name: string): Stored<T> {
    const slot = this.#byName.get(name);
    if (slot === undefined) throw new Error(`internal: the state has no slot ${name}`);
    return slot;
  }

  async read(names: readonly string[]): Promise<Named<HostTensor>> {
    const read: [string, HostTensor][] = [];
    for (const name of names) {
      const { data, ...type } = this.current(name);
      read.push([name, await this.#storages.copy(data, type)]);
    }
    return Object.fromEntries(read);
  }

  /** Replaces the values of slots, all at once, and takes over one use of each new storage. */
  exchange(values: ReadonlyMap<string, Stored<T>>): void {
    const old = [...values.keys()].map((name) => this.current(name));
    for (const [name, value] of values) this.#byName.set(name, value);
    this.#dropAll(old);
  }

  release(): void {
    const held = [...this.#byName.values()];
    this.#byName.clear();
    this.#dropAll(held);
  }

  #dropAll(stored: readonly Stored<T>[]): void {
    this.#storages.dropAll(stored.map(({ data }) => data));
  }
}

/** States for an engine that keeps none itself. */
export const slotFunctions = <T>(storages: Storages<T>): StateFunctions<Slots<T>> => ({
  create: (values) => Slots.create(storages, values),
  read: (slots, names) => slots.read(names),
  write: async (slots, values) => slots.exchange(await storages.uploadAll(Object.entries(values))),
  release: (slots) => slots.release(),
  // The storage pool counts the bytes.
  bytes: () => 0,
});
