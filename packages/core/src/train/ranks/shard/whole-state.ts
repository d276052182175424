import {
  type ComputeDType,
  encodeArray,
  type HostTensor,
  hostArrayOf,
  isHalf,
  type Ranks,
  type State,
  type ValueType,
} from "@mp/graph";
import { bytesOfTensors, tensorsOfBytes } from "../../../checkpoint/bytes.js";
import type { Outputs } from "../../definition/outputs.js";
import { slotGroupName } from "../../definition/state.js";
import { countElements } from "../../weights/partition.js";

type Types = Readonly<Record<string, ValueType>>;

export interface WholeParts {
  readonly ranks: Ranks;
  /** This rank's state. */
  readonly state: State;
  /** Types of the slots of the whole state. */
  readonly types: Types;
  /** The dtype of a parameter's copy. */
  readonly storage: (path: string) => ComputeDType;
}

const MASTER = "master";
const masterPath = (slot: string): string => slot.slice(MASTER.length + 1);
const inMaster = (entry: "copy" | "own", path: string): string =>
  [MASTER, entry, ...(path === "" ? [] : [path])].join("/");

/**
 * The state of a sharded run in the form of a run without sharding, for checkpoints. `read` gathers from all ranks, so
 * all of them must read the same slots.
 */
export class WholeState implements State {
  readonly types: Types;
  readonly #parts: WholeParts;
  /** The number of elements of each slot that each rank has. */
  readonly #elements: readonly Readonly<Record<string, number>>[];

  private constructor(parts: WholeParts, elements: readonly Readonly<Record<string, number>>[]) {
    this.types = parts.types;
    this.#parts = parts;
    this.#elements = elements;
  }

  /** Makes the whole state. Call it on all ranks, which exchange the sizes of their slots. */
  static async of(parts: WholeParts): Promise<WholeState> {
    const { state, ranks } = parts;
    const own = Object.entries(state.types).map(([slot, type]) => [slot, countElements(type)] as const);
    const all = await ranks.allGather(new TextEncoder().encode(JSON.stringify(Object.fromEntries(own))));
    return new WholeState(
      parts,
      all.map((bytes) => JSON.parse(new TextDecoder().decode(bytes)) as Record<string, number>),
    );
  }

  async read(names: readonly string[] = Object.keys(this.types)): Promise<Outputs> {
    const { state, ranks } = this.#parts;
    const divided = names.filter((name) => this.#isDivided(name));
    const plain = names.filter((name) => !this.#isDivided(name));
    const read = await state.read(plain.map((name) => this.#keptAt(name)));
    const values = new Map(plain.map((name) => [name, read[this.#keptAt(name)] as HostTensor]));
    if (divided.length > 0) {
      const own = divided.map((name) => this.#keptAt(name)).filter((slot) => state.types[slot] !== undefined);
      const bytes = bytesOfTensors({ tensors: await state.read(own), metadata: {} });
      const all = (await ranks.allGather(bytes)).map((each) => tensorsOfBytes(each).tensors);
      for (const name of divided) values.set(name, this.#joined(name, all));
    }
    return Object.fromEntries(names.map((name) => [name, values.get(name) as HostTensor]));
  }

  /** Writes this rank's part only; the ranks need not call it together. */
  async write(values: Outputs): Promise<void> {
    await this.#parts.state.write(
      Object.fromEntries(Object.entries(values).flatMap(([name, value]) => this.#keptOf(name, value))),
    );
  }

  /** Does nothing: the state belongs to the run. */
  async dispose(): Promise<void> {}

  /** The slot that holds this rank's part. */
  #keptAt(name: string): string {
    if (slotGroupName(name) !== MASTER) return name;
    const own = inMaster("own", masterPath(name));
    return this.#elements.some((slots) => own in slots) ? own : inMaster("copy", masterPath(name));
  }

  /** Whether the ranks' parts make up the slot; otherwise each rank has the whole slot. */
  #isDivided(name: string): boolean {
    const slot = this.#keptAt(name);
    const total = this.#elements.reduce((sum, slots) => sum + (slots[slot] ?? 0), 0);
    return total === countElements(this.types[name] as ValueType);
  }

  #joined(name: string, all: readonly Outputs[]): HostTensor {
    const { dtype, shape } = this.types[name] as ValueType;
    const data = new hostArrayOf[dtype](countElements({ shape })) as Float32Array;
    let at = 0;
    for (const tensors of all) {
      const part = tensors[this.#keptAt(name)]?.data as Float32Array | undefined;
      if (part === undefined) continue;
      data.set(part, at);
      at += part.length;
    }
    return { dtype, shape, data } as HostTensor;
  }

  #keptOf(name: string, value: HostTensor): readonly (readonly [slot: string, value: HostTensor])[] {
    const { state, ranks, storage } = this.#parts;
    const slot = this.#keptAt(name);
    const type = state.types[slot];
    const kept: [string, HostTensor][] = [];
    if (type !== undefined && this.#isDivided(name)) {
      const before = this.#elements.slice(0, ranks.rank).reduce((sum, slots) => sum + (slots[slot] ?? 0), 0);
      const data = value.data.slice(before, before + countElements(type));
      kept.push([slot, { ...value, shape: type.shape, data } as HostTensor]);
    } else if (type !== undefined) kept.push([slot, value]);
    const half = slotGroupName(name) === MASTER ? storage(masterPath(name)) : "f32";
    if (isHalf(half)) {
      const data = encodeArray(half, value.data as Float32Array);
      kept.push([
        inMaster("copy", masterPath(name)),
        { dtype: half, shape: value.shape, data } as HostTensor,
      ]);
    }
    return kept;
  }
}
