// Conversions between numbers and the bits of narrow floats. Encoding works on f32 bits: rebias the exponent,
// add half of the dropped bits, shift; a carry into the exponent gives the correct result. Doubles are first rounded
// to the format (once), so the f32 step is exact.
import { bytesPerElement, type FloatDType, floatFormats, type HostArrays } from "../dtype.js";
import { MpError } from "../errors.js";
import {
  F32_INFINITY_BITS,
  F32_NAN_BITS,
  type FormatRule,
  formatRules,
  INTEGER_ANCHOR,
  type NarrowDType,
} from "./format-rules.js";
import { roundArray, roundTo } from "./round.js";

const float = new Float32Array(1);
const floatBits = new Int32Array(float.buffer);

/**
 * Bits of the format's value that is nearest to `x` (see `roundTo`), as a non-negative integer. Every NaN becomes the
 * positive quiet NaN: f32 0x7fc00000, f16 0x7e00, bf16 0x7fc0, f8e4m3 0x7f, f8e5m2 0x7e.
 */
export function encode(dtype: FloatDType, x: number): number {
  if (dtype === "f32") {
    if (Number.isNaN(x)) return F32_NAN_BITS;
    float[0] = x;
    return (floatBits[0] as number) >>> 0;
  }
  const rounded = roundTo(dtype, x);
  float[0] = rounded;
  return encodeNumber(formatRules[dtype], floatBits[0] as number, rounded);
}

/** Encodes `value`; `bits` are its f32 bits, which both callers have already. */
function encodeNumber(rule: FormatRule, bits: number, value: number): number {
  const magnitude = bits & 0x7fffffff;
  const sign = (bits & 0x80000000) >>> rule.signShift;
  if (magnitude >= rule.overflowsFromBits) {
    if (magnitude > F32_INFINITY_BITS || rule.overflowCode === rule.nanCode) return rule.nanCode;
    return sign | rule.overflowCode;
  }
  if (magnitude >= rule.minNormalBits) {
    const half = (1 << (rule.dropped - 1)) - 1 + ((magnitude >>> rule.dropped) & 1);
    return sign | ((magnitude - rule.rebias + half) >>> rule.dropped);
  }
  return sign | (Math.abs(value) * rule.perMinSubnormal + INTEGER_ANCHOR - INTEGER_ANCHOR);
}

/**
 * The number that `bits` encode; exact in every format.
 * @throws MP_OUT_OF_RANGE for bits that are not an unsigned integer of the format's width
 */
export function decode(dtype: FloatDType, bits: number): number {
  const width = 8 * bytesPerElement[dtype];
  if (!Number.isInteger(bits) || bits < 0 || bits >= 2 ** width) {
    throw new MpError("MP_OUT_OF_RANGE", `decode: bits of ${dtype} must be 0 … 2^${width} - 1, got ${bits}`);
  }
  if (dtype === "f32") {
    floatBits[0] = bits;
    return float[0] as number;
  }
  return decodeTable(dtype)[bits] as number;
}

const tables = new Map<NarrowDType, Float32Array>();

function decodeTable(dtype: NarrowDType): Float32Array {
  let table = tables.get(dtype);
  if (table === undefined) {
    table = Float32Array.from({ length: 2 ** floatFormats[dtype].bits }, (_, bits) =>
      decodeNumber(dtype, bits),
    );
    tables.set(dtype, table);
  }
  return table;
}

function decodeNumber(dtype: NarrowDType, bits: number): number {
  const { bits: width, fractionBits, minExponent, hasInfinity } = floatFormats[dtype];
  const exponentBits = width - 1 - fractionBits;
  const sign = bits >>> (width - 1) === 1 ? -1 : 1;
  const exponent = (bits >>> fractionBits) & (2 ** exponentBits - 1);
  const fraction = bits & (2 ** fractionBits - 1);
  if (exponent === 2 ** exponentBits - 1) {
    if (hasInfinity) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
    if (fraction === 2 ** fractionBits - 1) return Number.NaN;
  }
  const unit = 2 ** (minExponent - fractionBits);
  if (exponent === 0) return sign * fraction * unit;
  return sign * (2 ** fractionBits + fraction) * unit * 2 ** (exponent - 1);
}

/** Encodes an array into new host storage. For f32, copies f32 numbers and rounds f64 numbers once. */
export function encodeArray<D extends FloatDType>(
  dtype: D,
  source: Float32Array | Float64Array,
): HostArrays[D];
export function encodeArray(
  dtype: FloatDType,
  source: Float32Array | Float64Array,
): Float32Array | Uint16Array | Uint8Array {
  if (dtype === "f32") return new Float32Array(source);
  const out = bytesPerElement[dtype] === 2 ? new Uint16Array(source.length) : new Uint8Array(source.length);
  const floats =
    source instanceof Float32Array ? source : roundArray(dtype, source, new Float32Array(source.length));
  const bits = new Int32Array(floats.buffer, floats.byteOffset, floats.length);
  const rule = formatRules[dtype];
  for (let i = 0; i < bits.length; i++) out[i] = encodeNumber(rule, bits[i] as number, floats[i] as number);
  return out;
}

/** Applies `decode` to an array, into a new `Float32Array`; exact, since every narrow value is an f32 value. */
export function decodeArray<D extends FloatDType>(dtype: D, bits: HostArrays[D]): Float32Array;
export function decodeArray(dtype: FloatDType, bits: Float32Array | Uint16Array | Uint8Array): Float32Array {
  if (dtype === "f32") return new Float32Array(bits);
  const out = new Float32Array(bits.length);
  if (dtype === "bf16") {
    const to = new Int32Array(out.buffer);
    for (let i = 0; i < bits.length; i++) to[i] = (bits[i] as number) << 16;
  } else {
    const table = decodeTable(dtype);
    for (let i = 0; i < bits.length; i++) out[i] = table[bits[i] as number] as number;
  }
  return out;
}
