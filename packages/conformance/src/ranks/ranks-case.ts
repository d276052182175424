import type { Ranks } from "@mp/graph";

/**
 * One claim about every implementation of `Ranks`. It runs on all ranks at once, and each checks what it sees. A case calls
 * all its collectives before it checks anything: a rank that stopped half-way would leave the others waiting.
 */
export interface RanksCase {
  /** `collective/behavior`: unique, stable, and states what must hold. */
  readonly id: string;
  /** Throws ConformanceFailure when the ranks are wrong. */
  readonly run: (ranks: Ranks) => Promise<void>;
}

export const allRanks = ({ size }: Ranks): readonly number[] =>
  Array.from({ length: size }, (_, rank) => rank);

/** The sum over all ranks of what each computes from its number. */
export function sumOver(ranks: Ranks, term: (rank: number) => number): number {
  return allRanks(ranks).reduce((sum, rank) => sum + term(rank), 0);
}
