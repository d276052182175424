/**
 * Each rank's part in a checkpoint of several ranks. Rank 0's model state and data position have their usual names; a
 * value that differs on rank r is under `rank/<r>/…`.
 */

import { formatType, type HostTensor } from "@mp/graph";
import { sameBytes } from "@mp/graph/internal";
import type { LoadedTensors } from "../../../checkpoint/format-tensors.js";
import { passOnly } from "../../data/feed.js";
import type { RankPlace } from "../../definition/rank-place.js";

/** Key of the number of ranks in the metadata; files of one process lack it. */
const RANKS = "ranks";
/** Entries of the metadata that differ from rank to rank. */
const OWN = ["cursor", "callbacks"];

const entryName = (rank: number, name: string): string => `rank/${rank}/${name}`;

/** Adds to the checkpoint of rank 0 the values that differ on other ranks; `parts` are in the order of ranks. */
export function withRankParts(checkpoint: LoadedTensors, parts: readonly LoadedTensors[]): LoadedTensors {
  const tensors: Record<string, HostTensor> = { ...checkpoint.tensors };
  const metadata: Record<string, string> = { ...checkpoint.metadata, [RANKS]: String(parts.length) };
  for (const [rank, part] of parts.entries()) {
    for (const [slot, value] of Object.entries(part.tensors)) {
      const first = checkpoint.tensors[slot] as HostTensor;
      if (!sameBytes(value.data, first.data)) tensors[entryName(rank, slot)] = value;
    }
    for (const [name, value] of Object.entries(part.metadata)) {
      if (value !== checkpoint.metadata[name]) metadata[entryName(rank, name)] = value;
    }
  }
  return { tensors, metadata };
}

/** A checkpoint as one rank reads it. */
export interface OwnCheckpoint extends LoadedTensors {
  /** A message if the checkpoint is from a run with another number of ranks. */
  readonly note: string | undefined;
}

/**
 * Returns one rank's own part of a checkpoint. If the run that wrote it had another number of ranks, the part has the
 * mean of the ranks' model states, and the data position is the beginning of the pass.
 */
export function ownPart(
  { tensors, metadata }: LoadedTensors,
  { rank, size }: RankPlace,
  refuse: (message: string) => never,
): OwnCheckpoint {
  const made = Number(metadata[RANKS] ?? 1);
  if (!Number.isSafeInteger(made) || made < 1) refuse(`its number of ranks is ${metadata[RANKS]}`);
  const entries = Object.entries(tensors).map(([name, value]) => ({ ...parseEntry(name), name, value }));
  const plain = Object.fromEntries(
    entries.filter(({ rank }) => rank === undefined).map(({ slot, value }) => [slot, value]),
  );
  const own = new Map<number, Map<string, HostTensor>>();
  for (const { rank: of, slot, name, value } of entries) {
    if (of === undefined) continue;
    const first = plain[slot];
    const isRank = Number.isInteger(of) && of >= 0 && of < made;
    if (!isRank || first === undefined || formatType(first) !== formatType(value))
      refuse(`${name} is of no rank that made it`);
    own.set(of, (own.get(of) ?? new Map<string, HostTensor>()).set(slot, value));
  }
  const slots = Object.entries(plain);
  if (made === size) {
    const mine = slots.map(([slot, value]) => [slot, own.get(rank)?.get(slot) ?? value] as const);
    const entries = OWN.flatMap((name) => {
      const value = metadata[entryName(rank, name)];
      return value === undefined ? [] : [[name, value] as const];
    });
    return {
      tensors: Object.fromEntries(mine),
      metadata: { ...metadata, ...Object.fromEntries(entries) },
      note: undefined,
    };
  }
  const of = (slot: string, value: HostTensor): readonly HostTensor[] =>
    Array.from({ length: made }, (_, each) => own.get(each)?.get(slot) ?? value);
  const means = slots.map(([slot, value]) => [slot, averageTensors(of(slot, value))] as const);
  return {
    tensors: Object.fromEntries(means),
    metadata: { ...metadata, cursor: JSON.stringify(passOnly(metadata["cursor"] ?? "null")) },
    note: `was made by ${made} ranks and goes on with ${size}: the model state is the mean of theirs, and the pass over the data starts from its beginning`,
  };
}

/** Splits an entry's name into its slot and, if the entry belongs to one rank, that rank. */
function parseEntry(name: string): { readonly rank: number | undefined; readonly slot: string } {
  const [head, rank, ...rest] = name.split("/");
  return head === "rank" && rest.length > 0
    ? { rank: Number(rank), slot: rest.join("/") }
    : { rank: undefined, slot: name };
}

/** The mean of f32 tensors; for another dtype, such as counts, the first tensor. */
function averageTensors(values: readonly HostTensor[]): HostTensor {
  const [first] = values as readonly [HostTensor];
  if (first.dtype !== "f32" || values.every((value) => value === first)) return first;
  const all = values.map(({ data }) => data as Float32Array);
  const data = first.data.map(
    (_, at) => all.reduce((sum, each) => sum + (each[at] as number), 0) / all.length,
  );
  return { ...first, data };
}
