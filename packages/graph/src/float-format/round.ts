// Rounds to nearest, ties to even, and keeps subnormals, by one f64 addition. A number C of exponent k has spacing
// 2^(k-52), so (x + C) - C is x rounded to that spacing. C is chosen from x's exponent, so there is a single rounding
// from f64; going through f32 would round twice (1 + 2^-11 + 2^-40 to f16).
import type { FloatDType } from "../dtype.js";
import { shapeMismatch } from "../errors.js";
import { F32_INFINITY_BITS, F32_NAN_BITS, type FormatRule, formatRules } from "./format-rules.js";

const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);
const HIGH = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 1 : 0;

/**
 * The value of the format nearest to the double `x`, ties to even. Overflow gives infinity; in f8e4m3, which has no
 * infinity and does not saturate here, it gives NaN: 464 is the last value that rounds to 448. The sign of zero is
 * kept.
 */
export function roundTo(dtype: FloatDType, x: number): number {
  return dtype === "f32" ? Math.fround(x) : roundWith(formatRules[dtype], x);
}

function roundWith(rule: FormatRule, x: number): number {
  if (x === 0) return x;
  const magnitude = Math.abs(x);
  if (magnitude >= rule.overflowsFrom) return x < 0 ? -rule.overflow : rule.overflow;
  double[0] = magnitude;
  const exponent = Math.max((words[HIGH] as number) >>> 20, rule.minExponentOfF64);
  words[HIGH] = ((exponent + 52 - rule.fractionBits) << 20) | 0x80000;
  words[1 - HIGH] = 0;
  const anchor = double[0] as number;
  const rounded = magnitude + anchor - anchor;
  return x < 0 ? -rounded : rounded;
}

/**
 * Applies `roundTo` to an array, by default in place. `out` must be the source itself or not overlap it.
 * @returns `out`
 * @throws MP_SHAPE_MISMATCH when `out` has another length
 */
export function roundArray<A extends Float32Array | Float64Array>(dtype: FloatDType, source: A): A;
export function roundArray<A extends Float32Array | Float64Array>(
  dtype: FloatDType,
  source: Float32Array | Float64Array,
  out: A,
): A;
export function roundArray(
  dtype: FloatDType,
  source: Float32Array | Float64Array,
  out: Float32Array | Float64Array = source,
): Float32Array | Float64Array {
  if (out.length !== source.length) {
    throw shapeMismatch(`roundArray: out has ${out.length} elements, the source ${source.length}`);
  }
  if (dtype === "f32") roundToF32(source, out);
  else if (source instanceof Float32Array && out instanceof Float32Array) {
    roundF32Bits(formatRules[dtype], source, out);
  } else {
    const rule = formatRules[dtype];
    for (let i = 0; i < source.length; i++) out[i] = roundWith(rule, source[i] as number);
  }
  return out;
}

function roundToF32(source: Float32Array | Float64Array, out: Float32Array | Float64Array): void {
  if (source instanceof Float32Array || out instanceof Float32Array) {
    if (source !== out) out.set(source);
    return;
  }
  for (let i = 0; i < source.length; i++) out[i] = Math.fround(source[i] as number);
}

/** Rounds f32 bits; a carry out of the fraction increments the exponent, which is the correct rounding up. */
function roundF32Bits(rule: FormatRule, source: Float32Array, out: Float32Array): void {
  const from = new Int32Array(source.buffer, source.byteOffset, source.length);
  const to = new Int32Array(out.buffer, out.byteOffset, out.length);
  const { dropped, minNormalBits, overflowsFromBits, overflowBits, subnormalAnchor } = rule;
  const half = (1 << (dropped - 1)) - 1;
  const kept = -1 << dropped;
  for (let i = 0; i < from.length; i++) {
    const bits = from[i] as number;
    const magnitude = bits & 0x7fffffff;
    if (magnitude >= overflowsFromBits) {
      to[i] = magnitude > F32_INFINITY_BITS ? F32_NAN_BITS : (bits & 0x80000000) | overflowBits;
    } else if (magnitude >= minNormalBits) {
      to[i] = (bits + half + ((bits >>> dropped) & 1)) & kept;
    } else {
      const rounded = Math.abs(source[i] as number) + subnormalAnchor - subnormalAnchor;
      out[i] = bits < 0 ? -rounded : rounded;
    }
  }
}
