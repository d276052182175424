import type { DType } from "../dtype.js";
import type { Op } from "../graph/attributes.js";

/** An op and a dtype of its deciding operand, as in a manifest's `ops`. */
export interface ProbePair {
  readonly op: Op;
  readonly dtype: DType;
}

/** A key for sets and maps of pairs. */
export const pairKey = ({ op, dtype }: ProbePair): string => `${op} ${dtype}`;
