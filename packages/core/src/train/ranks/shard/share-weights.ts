/** How all ranks get the new weights, of which each has made a part. */
import type { State } from "../../../backend.js";
import { type ComputeDType, hostArrayOf } from "../../../dtype.js";
import type { HostTensor } from "../../../host-tensor.js";
import type { Ranks } from "../../../ranks.js";
import { elementCount } from "../../../shape.js";
import { fedName } from "../../program/program.js";
import type { Leaf, Partition } from "./partition.js";

export interface Exchange {
  readonly ranks: Ranks;
  readonly leaves: readonly Leaf[];
  readonly divided: Partition;
  /** The dtype of a parameter's copy. */
  readonly storage: (path: string) => ComputeDType;
}

/** Writes the copies of all parameters, from this rank's new pieces in the order of its parts. On all ranks. */
export type ShareWeights = (state: State, own: readonly HostTensor[]) => Promise<void>;

/** The slot of a parameter's copy. */
export const copyOf = (path: string): string => fedName("master/copy", path);

const elementsOf = ({ shape }: Leaf): number => elementCount(shape, "shard");

/** Gathers the pieces, into memory that is used in every step. */
export function sharing({ ranks, leaves, divided, storage }: Exchange): ShareWeights {
  const copies = new Map(
    leaves.map(({ path, shape }) => {
      const dtype = storage(path);
      const data = new hostArrayOf[dtype](elementCount(shape, "shard"));
      return [path, { dtype, shape, data } as HostTensor];
    }),
  );
  const bytesOf = (path: string, from: number, to: number): Uint8Array => {
    const { data } = copies.get(path) as HostTensor;
    const { BYTES_PER_ELEMENT: width } = data;
    return new Uint8Array(data.buffer, from * width, (to - from) * width);
  };
  const values = Object.fromEntries([...copies].map(([path, value]) => [copyOf(path), value]));
  const length = [...(divided[ranks.rank] ?? [])].reduce(
    (sum, [path, { from, to }]) => sum + bytesOf(path, from, to).length,
    0,
  );
  const packed = new Uint8Array(length);
  return async (state, own) => {
    let end = 0;
    for (const { data } of own) {
      packed.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), end);
      end += data.byteLength;
    }
    for (const [rank, bytes] of (await ranks.allGather(packed)).entries()) {
      let at = 0;
      for (const [path, { from, to }] of divided[rank] ?? []) {
        const target = bytesOf(path, from, to);
        target.set(bytes.subarray(at, at + target.length));
        at += target.length;
      }
    }
    await state.write(values);
  };
}

/** Each slot of a group is at the next multiple of so many elements, 64 bytes. */
const BLOCK = 16;

/**
 * Adds the pieces up where the engine keeps the copies: every rank puts -0 where others have theirs, which changes no bit
 * of what it is added to.
 */
export function sharingInPlace(exchange: Exchange): ShareWeights {
  const { ranks, leaves, divided } = exchange;
  const starts = new Map<string, number>();
  let end = 0;
  for (const leaf of leaves) {
    starts.set(leaf.path, end);
    end += Math.ceil(elementsOf(leaf) / BLOCK) * BLOCK;
  }
  const places = [...(divided[ranks.rank] ?? [])].map(([path, { from }]) => (starts.get(path) ?? 0) + from);
  const slots = leaves.map(({ path }) => copyOf(path));
  const elsewhere = sharing(exchange);
  return async (state, own) => {
    if (state.inPlace === undefined) return elsewhere(state, own);
    await state.inPlace(slots, async (values) => {
      values.fill(-0);
      for (const [at, { data }] of own.entries()) values.set(data as Float32Array, places[at]);
      await ranks.allReduce(values);
    });
  };
}
