import type { DType } from "../dtype.js";
import type { Op } from "../graph/attributes.js";

/** An op and a dtype, as a manifest's `ops` lists them. */
export interface ProbePair {
  readonly op: Op;
  readonly dtype: DType;
}

/** A key for sets and maps of pairs. */
export const pairKey = ({ op, dtype }: ProbePair): string => `${op} ${dtype}`;
