/** The rank of a process, and the number of processes. */
export interface RankPlace {
  readonly rank: number;
  readonly size: number;
}

export const ALONE: RankPlace = { rank: 0, size: 1 };
