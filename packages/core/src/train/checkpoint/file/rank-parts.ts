/**
 * The part of each rank in a checkpoint of several ranks: rank 0's model state and place in the data under their usual
 * names, and what another rank has that differs under `rank/<r>/…`.
 */
import type { LoadedTensors } from "../../../checkpoint/format-tensors.js";
import { formatType } from "../../../graph/format-type.js";
import type { HostTensor } from "../../../host/host-tensor.js";
import { sameBytes } from "../../../same-bytes.js";
import { passOnly } from "../../data/feed.js";
import type { RankPlace } from "../../definition/rank-place.js";

/** The number of ranks in the metadata; files of one process do not name it. */
const RANKS = "ranks";
/** Entries of the metadata that each rank has for itself. */
const OWN = ["cursor", "callbacks"];

const nameOf = (rank: number, name: string): string => `rank/${rank}/${name}`;

/** The checkpoint of rank 0 with what the others have of their own, in the order of ranks. */
export function withRankParts(checkpoint: LoadedTensors, parts: readonly LoadedTensors[]): LoadedTensors {
  const tensors: Record<string, HostTensor> = { ...checkpoint.tensors };
  const metadata: Record<string, string> = { ...checkpoint.metadata, [RANKS]: String(parts.length) };
  for (const [rank, part] of parts.entries()) {
    for (const [slot, value] of Object.entries(part.tensors)) {
      const first = checkpoint.tensors[slot] as HostTensor;
      if (!sameBytes(value.data, first.data)) tensors[nameOf(rank, slot)] = value;
    }
    for (const [name, value] of Object.entries(part.metadata)) {
      if (value !== checkpoint.metadata[name]) metadata[nameOf(rank, name)] = value;
    }
  }
  return { tensors, metadata };
}

/** A checkpoint as one rank reads it. */
export interface OwnCheckpoint extends LoadedTensors {
  /** The message about its fate where another number of ranks made it. */
  readonly told: string | undefined;
}

/**
 * The rank's own part of a checkpoint. From a run of another number of ranks it takes the mean of the model states, and
 * the beginning of the pass.
 */
export function ownPart(
  { tensors, metadata }: LoadedTensors,
  { rank, size }: RankPlace,
  refuse: (message: string) => never,
): OwnCheckpoint {
  const made = Number(metadata[RANKS] ?? 1);
  if (!Number.isSafeInteger(made) || made < 1) refuse(`its number of ranks is ${metadata[RANKS]}`);
  const [plain, others] = split(tensors);
  for (const [name, value] of others) {
    const [, of, slot] = PLACED.exec(name) as unknown as [string, string, string];
    const first = plain[slot];
    if (Number(of) >= made || first === undefined || formatType(first) !== formatType(value))
      refuse(`${name} is of no rank that made it`);
  }
  const own = new Map(others);
  if (made === size) {
    const mine = Object.entries(plain).map(
      ([slot, value]) => [slot, own.get(nameOf(rank, slot)) ?? value] as const,
    );
    const entries = OWN.flatMap((name) => {
      const value = metadata[nameOf(rank, name)];
      return value === undefined ? [] : [[name, value] as const];
    });
    return {
      tensors: Object.fromEntries(mine),
      metadata: { ...metadata, ...Object.fromEntries(entries) },
      told: undefined,
    };
  }
  const of = (slot: string, value: HostTensor): readonly HostTensor[] =>
    Array.from({ length: made }, (_, each) => own.get(nameOf(each, slot)) ?? value);
  const means = Object.entries(plain).map(([slot, value]) => [slot, meanOf(of(slot, value))] as const);
  return {
    tensors: Object.fromEntries(means),
    metadata: { ...metadata, cursor: JSON.stringify(passOnly(metadata["cursor"] ?? "null")) },
    told: `was made by ${made} ranks and goes on with ${size}: the model state is the mean of theirs, and the pass over the data starts from its beginning`,
  };
}

const PLACED = /^rank\/(\d+)\/(.*)$/;

function split(tensors: LoadedTensors["tensors"]) {
  const entries = Object.entries(tensors);
  return [
    Object.fromEntries(entries.filter(([name]) => !PLACED.test(name))) as Readonly<
      Record<string, HostTensor>
    >,
    entries.filter(([name]) => PLACED.test(name)),
  ] as const;
}

/** The mean of f32; the first one's in other dtypes, such as counts. */
function meanOf(values: readonly HostTensor[]): HostTensor {
  const [first] = values as readonly [HostTensor];
  if (first.dtype !== "f32" || values.every((value) => value === first)) return first;
  const all = values.map(({ data }) => data as Float32Array);
  const data = first.data.map(
    (_, at) => all.reduce((sum, each) => sum + (each[at] as number), 0) / all.length,
  );
  return { ...first, data };
}
