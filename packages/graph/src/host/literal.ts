import { type DType, isFloat } from "../dtype.js";
import { roundTo } from "../float-format/round.js";

const integerRange: Readonly<Record<"i32" | "i64" | "u64" | "u8" | "bool", readonly [number, number]>> = {
  i32: [-(2 ** 31), 2 ** 31 - 1],
  i64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  u64: [0, Number.MAX_SAFE_INTEGER],
  u8: [0, 255],
  bool: [0, 1],
};

/** Whether a literal fits a dtype. Floats may round, not overflow; ±∞ and NaN fit. Integers must be exact. */
export function isLiteralInRange(number: number, dtype: DType): boolean {
  if (isFloat(dtype)) return !Number.isFinite(number) || Number.isFinite(roundTo(dtype, number));
  const [low, high] = integerRange[dtype];
  return Number.isInteger(number) && number >= low && number <= high;
}
