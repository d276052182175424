/**
 * The element types of the graph. `u64` is only used for randomness; the two f8 types are storage only (converted
 * without saturation, no arithmetic). There is no f64: the reference's f64 arithmetic is a mode, not a dtype.
 */
export const DTYPES = ["f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i32", "i64", "u64", "u8", "bool"] as const;

export type DType = (typeof DTYPES)[number];
export type FloatDType = ComputeDType | EighthDType;
/** Floating types that operators compute in. */
export type ComputeDType = "f32" | "f16" | "bf16";
/** The half-precision dtypes, or half dtypes: a casting policy may lower to them. */
export type HalfDType = "f16" | "bf16";
/** The 8-bit floats, which are only stored. */
export type EighthDType = "f8e4m3" | "f8e5m2";

/** The names of the compute dtypes in other libraries. */
export const longNames: Readonly<Record<string, ComputeDType>> = {
  float32: "f32",
  float16: "f16",
  bfloat16: "bf16",
};

/** A hint for a message about an unknown dtype; empty unless `given` is a long name such as `float16`. */
export function dtypeHint(given: unknown): string {
  const isLong = typeof given === "string" && Object.hasOwn(longNames, given);
  return isLong ? `; did you mean ${longNames[given]}?` : "";
}

/** Host storage: f16, bf16 and f8 are stored as their bits, 64-bit integers as bigint arrays, never as numbers. */
export interface HostArrays {
  readonly f32: Float32Array;
  readonly f16: Uint16Array;
  readonly bf16: Uint16Array;
  readonly f8e4m3: Uint8Array;
  readonly f8e5m2: Uint8Array;
  readonly i32: Int32Array;
  readonly i64: BigInt64Array;
  readonly u64: BigUint64Array;
  readonly u8: Uint8Array;
  readonly bool: Uint8Array;
}

type HostArrayConstructors = {
  readonly [D in DType]: {
    new (length: number): HostArrays[D];
    new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): HostArrays[D];
  };
};

/** The array class that stores each dtype on the host; see `HostArrays`. */
export const hostArrayOf: HostArrayConstructors = {
  f32: Float32Array,
  f16: Uint16Array,
  bf16: Uint16Array,
  f8e4m3: Uint8Array,
  f8e5m2: Uint8Array,
  i32: Int32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  u8: Uint8Array,
  bool: Uint8Array,
};

/** Bytes of one element, on the host and in files. */
export const bytesPerElement: Readonly<Record<DType, number>> = {
  f32: 4,
  f16: 2,
  bf16: 2,
  f8e4m3: 1,
  f8e5m2: 1,
  i32: 4,
  i64: 8,
  u64: 8,
  u8: 1,
  bool: 1,
};

/** A binary floating format: explicit fraction bits, exponent range of normals, largest finite value. */
export interface FloatFormat {
  readonly bits: number;
  readonly fractionBits: number;
  readonly minExponent: number;
  readonly maxExponent: number;
  readonly maxFinite: number;
  readonly minNormal: number;
  readonly minSubnormal: number;
  /** False for f8e4m3 (the "fn" variant of arXiv 2209.05433): its overflow is NaN. */
  readonly hasInfinity: boolean;
}

/** Exponent, mantissa, range and special values of each floating dtype. */
export const floatFormats: Readonly<Record<FloatDType, FloatFormat>> = {
  f32: {
    bits: 32,
    fractionBits: 23,
    minExponent: -126,
    maxExponent: 127,
    maxFinite: (2 - 2 ** -23) * 2 ** 127,
    minNormal: 2 ** -126,
    minSubnormal: 2 ** -149,
    hasInfinity: true,
  },
  f16: {
    bits: 16,
    fractionBits: 10,
    minExponent: -14,
    maxExponent: 15,
    maxFinite: 65504,
    minNormal: 2 ** -14,
    minSubnormal: 2 ** -24,
    hasInfinity: true,
  },
  bf16: {
    bits: 16,
    fractionBits: 7,
    minExponent: -126,
    maxExponent: 127,
    maxFinite: (2 - 2 ** -7) * 2 ** 127,
    minNormal: 2 ** -126,
    minSubnormal: 2 ** -133,
    hasInfinity: true,
  },
  f8e4m3: {
    bits: 8,
    fractionBits: 3,
    minExponent: -6,
    maxExponent: 8,
    maxFinite: 448,
    minNormal: 2 ** -6,
    minSubnormal: 2 ** -9,
    hasInfinity: false,
  },
  f8e5m2: {
    bits: 8,
    fractionBits: 2,
    minExponent: -14,
    maxExponent: 15,
    maxFinite: 57344,
    minNormal: 2 ** -14,
    minSubnormal: 2 ** -16,
    hasInfinity: true,
  },
};

/** Whether a dtype is floating, f8 included. */
export function isFloat(dtype: DType): dtype is FloatDType {
  return dtype in floatFormats;
}

/** Whether a dtype is f16 or bf16. */
export function isHalf(dtype: DType): dtype is HalfDType {
  return dtype === "f16" || dtype === "bf16";
}

/** Whether a dtype is an 8-bit float. */
export function isEighth(dtype: DType): dtype is EighthDType {
  return dtype === "f8e4m3" || dtype === "f8e5m2";
}

/** Whether operators compute in the dtype: f32, f16 or bf16. */
export function isComputeFloat(dtype: DType): dtype is ComputeDType {
  return dtype === "f32" || isHalf(dtype);
}
