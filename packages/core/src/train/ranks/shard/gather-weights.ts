/** Gives all ranks the new weights after each rank has updated its part. */
import { type ComputeDType, type HostTensor, hostArrayOf, MpError, type Ranks, type State } from "@mp/graph";
import { feedName } from "../../definition/traced-program.js";
import { countElements, type Leaf, type Part, type Partition } from "../../weights/partition.js";

export interface Exchange {
  readonly ranks: Ranks;
  readonly leaves: readonly Leaf[];
  readonly divided: Partition;
  /** The dtype of a parameter's copy. */
  readonly storage: (path: string) => ComputeDType;
}

/** Completes the copies of all parameters after each rank has updated its part; called on all ranks. */
export type GatherWeights = (state: State) => Promise<void>;

/** The slot of a parameter's copy. */
export const copyName = (path: string): string => feedName("master/copy", path);

/** Makes a function that gathers the ranks' parts into memory, which every step reuses. */
export function gatherWeights({ ranks, leaves, divided, storage }: Exchange): GatherWeights {
  const copies = new Map(
    leaves.map((leaf) => {
      const dtype = storage(leaf.path);
      return [
        leaf.path,
        { dtype, shape: leaf.shape, data: new hostArrayOf[dtype](countElements(leaf)) } as HostTensor,
      ];
    }),
  );
  const values = Object.fromEntries([...copies].map(([path, value]) => [copyName(path), value]));
  const mine = [...(divided[ranks.rank] ?? [])];
  const slots = mine.map(([path]) => copyName(path));
  const partLength = (rank: number): number =>
    [...(divided[rank] ?? [])].reduce(
      (sum, [path, part]) => sum + partBytes(copies.get(path) as HostTensor, part).length,
      0,
    );
  const packed = new Uint8Array(partLength(ranks.rank));
  return async (state) => {
    const own = await state.read(slots);
    let end = 0;
    for (const [path, part] of mine) {
      const bytes = partBytes(own[copyName(path)] as HostTensor, part);
      packed.set(bytes, end);
      end += bytes.length;
    }
    for (const [rank, bytes] of (await ranks.allGather(packed)).entries()) {
      if (bytes.length !== partLength(rank)) throw notWeights(rank, bytes.length);
      let at = 0;
      for (const [path, part] of divided[rank] ?? []) {
        const target = partBytes(copies.get(path) as HostTensor, part);
        target.set(bytes.subarray(at, at + target.length));
        at += target.length;
      }
    }
    await state.write(values);
  };
}

/** The error for bytes that are not weights: a failing rank announces itself by an `allGather` too. */
const notWeights = (rank: number, length: number): MpError =>
  new MpError(
    "MP_RANK_MISMATCH",
    `step: rank ${rank} gave ${length} bytes in place of its new weights; its own error says why`,
    { details: { rank } },
  );

function partBytes({ data }: HostTensor, { from, to }: Part): Uint8Array {
  const { BYTES_PER_ELEMENT: width } = data;
  return new Uint8Array(data.buffer, data.byteOffset + from * width, (to - from) * width);
}

/** Slots of a group are aligned to this many elements, 64 bytes. */
const BLOCK = 16;

/**
 * Sums the copies over ranks in the engine's memory: each rank writes -0 over the parts of the other ranks, and adding
 * -0 changes no bit.
 */
export function gatherWeightsInPlace(exchange: Exchange): GatherWeights {
  const { ranks, leaves, divided } = exchange;
  const mine = divided[ranks.rank] ?? new Map<string, Part>();
  const slots = leaves.map(({ path }) => copyName(path));
  /** The ranges that hold the other ranks' parts. */
  const others: [from: number, to: number][] = [];
  let [start, end] = [0, 0];
  for (const leaf of leaves) {
    const part = mine.get(leaf.path);
    if (part !== undefined) {
      others.push([end, start + part.from]);
      end = start + part.to;
    }
    start += Math.ceil(countElements(leaf) / BLOCK) * BLOCK;
  }
  others.push([end, start]);
  let elsewhere: GatherWeights | undefined;
  return async (state) => {
    if (state.inPlace === undefined) {
      elsewhere ??= gatherWeights(exchange);
      return elsewhere(state);
    }
    await state.inPlace(slots, async (values) => {
      for (const [from, to] of others) values.fill(-0, from, to);
      await ranks.allReduce(values);
    });
  };
}
