import type { DType, Op } from "@mp/core";

/** An op in a dtype of its deciding operand: what a manifest's `ops` is made of. */
export interface Pair {
  readonly op: Op;
  readonly dtype: DType;
}

export const keyOf = ({ op, dtype }: Pair): string => `${op} ${dtype}`;
