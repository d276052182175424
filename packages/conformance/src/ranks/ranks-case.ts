import type { Ranks } from "@mp/graph";

/**
 * One claim about every implementation of `Ranks`. It runs on all ranks at once; each checks its own results. A case
 * calls all its collectives before it checks anything, since a rank that stopped half-way would leave the others
 * waiting.
 */
export interface RanksCase {
  /** `collective/behavior`: unique and stable; it states what must hold. */
  readonly id: string;
  /** Throws ConformanceFailure if the ranks are wrong. */
  readonly run: (ranks: Ranks) => Promise<void>;
}

export const allRanks = ({ size }: Ranks): readonly number[] =>
  Array.from({ length: size }, (_, rank) => rank);

/** Sums `term(rank)` over all ranks. */
export function sumOver({ size }: Ranks, term: (rank: number) => number): number {
  let sum = 0;
  for (let rank = 0; rank < size; rank++) sum += term(rank);
  return sum;
}
