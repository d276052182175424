import type { FloatDType } from "../dtype.js";
import { bytesPerElement } from "../dtype.js";
import { encode } from "./bits.js";

/**
 * Distance of two numbers in steps of the format: how many representable values lie between them, plus one.
 * Numbers that the format cannot hold are rounded to it first. +0 and -0 are at distance 0, so a caller that
 * minds the sign of zero compares it apart; infinity is one step beyond the largest finite value. NaN is at 0
 * from NaN and at Infinity from every number (in f8e4m3 overflow is NaN).
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
