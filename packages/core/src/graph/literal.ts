import { type DType, hostArrayOf, isFloat } from "../dtype.js";
import { encode } from "../float-format/bits.js";
import { roundTo } from "../float-format/round.js";
import type { HostTensor } from "../host-tensor.js";

const integerRange: Readonly<Record<"i32" | "i64" | "u64" | "u8" | "bool", readonly [number, number]>> = {
  i32: [-(2 ** 31), 2 ** 31 - 1],
  i64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  u64: [0, Number.MAX_SAFE_INTEGER],
  u8: [0, 255],
  bool: [0, 1],
};

/** Infinities and NaN are themselves in a float dtype; a finite number must stay finite, an integer exact. */
export function isLiteralInRange(number: number, dtype: DType): boolean {
  if (isFloat(dtype)) return !Number.isFinite(number) || Number.isFinite(roundTo(dtype, number));
  const [low, high] = integerRange[dtype];
  return Number.isInteger(number) && number >= low && number <= high;
}

/** The scalar tensor of a number, rounded once from f64. */
export function literalTensor(number: number, dtype: DType): HostTensor {
  const data = new hostArrayOf[dtype](1);
  if (data instanceof Float32Array) data[0] = number;
  else if (data instanceof BigInt64Array || data instanceof BigUint64Array) data[0] = BigInt(number);
  else data[0] = isFloat(dtype) ? encode(dtype, number) : number;
  return Object.freeze({ dtype, shape: Object.freeze([]), data }) as unknown as HostTensor;
}
