import type { ValueType } from "@mp/graph";
import { Packing } from "./packing.js";

/** Where each slot of a state lies. */
export class StateLayout {
  readonly slots: readonly string[];
  readonly packing: Packing;
  readonly #indices: ReadonlyMap<string, number>;

  constructor(types: Readonly<Record<string, ValueType>>) {
    this.slots = Object.keys(types);
    this.packing = new Packing(
      Object.values(types).map(({ dtype, shape }) => ({ dtype, shape: [...shape] })),
    );
    this.#indices = new Map(this.slots.map((slot, index) => [slot, index]));
  }

  indexOf(slot: string): number {
    return this.#indices.get(slot) as number;
  }

  /** The buffers that hold these slots, in order. */
  buffersOf(slots: Iterable<string>): readonly number[] {
    const found = Array.from(slots, (slot) => this.packing.locationOf(this.indexOf(slot)).buffer);
    return [...new Set(found)].sort((one, other) => one - other);
  }
}
