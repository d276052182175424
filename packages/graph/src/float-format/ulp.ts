import type { FloatDType } from "../dtype.js";
import { bytesPerElement } from "../dtype.js";
import { encode } from "./bits.js";

/**
 * Distance of two numbers in ulps of the format. Numbers that the format cannot represent are rounded to it first. The
 * distance of +0 and -0 is 0; compare the signs of zeros separately if they matter. Infinity is one step beyond the
 * largest finite value. The distance of NaN is 0 to NaN and Infinity to every number (in f8e4m3 overflow is NaN).
 */
export function ulpDistance(dtype: FloatDType, a: number, b: number): number {
  const x = order(dtype, a);
  const y = order(dtype, b);
  if (Number.isNaN(x) || Number.isNaN(y)) {
    return Number.isNaN(x) && Number.isNaN(y) ? 0 : Number.POSITIVE_INFINITY;
  }
  return Math.abs(x - y);
}

/** An integer that grows by one from each value of the format to the next; NaN for NaN. */
function order(dtype: FloatDType, value: number): number {
  const bits = encode(dtype, value);
  if (bits === encode(dtype, Number.NaN)) return Number.NaN;
  const signBit = 2 ** (8 * bytesPerElement[dtype] - 1);
  return bits >= signBit ? signBit - bits : bits;
}
