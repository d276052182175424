import { type DType, isFloat } from "@mp/graph";

/** Operations that fold many elements into one. */
export type FoldOp = "add" | "multiply" | "maximum" | "minimum" | "and" | "or";

type Limits = readonly [least: number | bigint, greatest: number | bigint];

const integerLimits: Readonly<Partial<Record<DType, Limits>>> = {
  i32: [-(2 ** 31), 2 ** 31 - 1],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
  u64: [0n, 2n ** 64n - 1n],
  u8: [0, 255],
  bool: [0, 1],
};

/** The least and the greatest value of a dtype; for floats, the infinities. */
export function limitsOf(dtype: DType): Limits {
  if (isFloat(dtype)) return [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  const limits = integerLimits[dtype];
  if (limits === undefined) throw new Error(`internal: ${dtype} has no limits`);
  return limits;
}

const neutral: Readonly<Record<FoldOp, (limits: Limits) => number | bigint>> = {
  add: () => 0,
  multiply: () => 1,
  maximum: ([least]) => least,
  minimum: ([, greatest]) => greatest,
  and: () => 1,
  or: () => 0,
};

/** The neutral element of an operation in a dtype, such as 0 for sums and 1 for products. */
export const neutralOf = (operation: FoldOp, dtype: DType): number | bigint =>
  neutral[operation](limitsOf(dtype));
