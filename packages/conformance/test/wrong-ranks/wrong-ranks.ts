import type { Ranks } from "@mp/graph";

/** A communicator with one fault, and the cases that must find it. */
export interface WrongRanks {
  readonly fault: string;
  /** Ids of cases that fail on at least one rank; all other cases pass on all ranks. */
  readonly fails: readonly string[];
  /** Number of ranks with which the fault shows. */
  readonly size: number;
  readonly make: (right: readonly Ranks[]) => readonly Ranks[];
}

/** Replaces some methods of each rank. */
export function changed(
  right: readonly Ranks[],
  change: (rank: Ranks, all: readonly Ranks[]) => Partial<Ranks>,
): readonly Ranks[] {
  return right.map((rank) => ({ ...rank, ...change(rank, right) }));
}
