/** Integers around the limits of f64 and of machine words, and exact integer arithmetic with bigints. */
import {
  elementCount,
  type FloatDType,
  floatFormats,
  type HostTensor,
  hostArrayOf,
  type Shape,
  tensor,
} from "@mp/graph";
import type { RandomSource } from "../random-source.js";

export type IntegerDType = "i32" | "i64" | "u64" | "u8";

export const INTEGER_DTYPES: readonly IntegerDType[] = ["i32", "i64", "u64", "u8"];

interface Word {
  readonly bits: number;
  readonly signed: boolean;
}

const words: Readonly<Record<IntegerDType, Word>> = {
  i32: { bits: 32, signed: true },
  i64: { bits: 64, signed: true },
  u64: { bits: 64, signed: false },
  u8: { bits: 8, signed: false },
};

/** The low bits of x as a value of the dtype. */
export function wrap(dtype: IntegerDType, x: bigint): bigint {
  const { bits, signed } = words[dtype];
  return signed ? BigInt.asIntN(bits, x) : BigInt.asUintN(bits, x);
}

export const holds = (dtype: IntegerDType, x: bigint): boolean => wrap(dtype, x) === x;

export function integerData(
  dtype: IntegerDType,
  values: readonly bigint[],
  shape: Shape = [values.length],
): HostTensor {
  if (dtype === "i64") return tensor(BigInt64Array.from(values), shape, dtype);
  if (dtype === "u64") return tensor(BigUint64Array.from(values), shape, dtype);
  const data = new hostArrayOf[dtype](values.length) as Int32Array;
  values.forEach((x, at) => {
    data[at] = Number(x);
  });
  return tensor(data, shape, dtype as "i32");
}

export function lesser(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}

export function greater(a: bigint, b: bigint): bigint {
  if (a > b) return a;
  return b;
}

const POWERS = [7, 8, 15, 16, 24, 30, 31, 32, 33, 52, 53, 54, 62, 63, 64];

/** 0, small numbers, and the neighbors of every power of two that is a limit, with both signs. */
export function edges(dtype: IntegerDType): readonly bigint[] {
  const near = POWERS.flatMap((power) => [
    2n ** BigInt(power) - 1n,
    2n ** BigInt(power),
    2n ** BigInt(power) + 1n,
  ]);
  const all = [0n, 1n, 2n, 3n, 5n, ...near];
  return [...new Set([...all, ...all.map((x) => -x)])].filter((x) => holds(dtype, x));
}

/** An integer with a random number of bits, so that small numbers are as likely as large ones. */
function drawInteger(random: RandomSource, dtype: IntegerDType): bigint {
  const { bits, signed } = words[dtype];
  const word = (BigInt(random.integer(0, 2 ** 32 - 1)) << 32n) | BigInt(random.integer(0, 2 ** 32 - 1));
  const magnitude = BigInt.asUintN(random.integer(1, signed ? bits - 1 : bits), word);
  return signed && random.next() < 0.5 ? -magnitude : magnitude;
}

export const drawIntegers = (random: RandomSource, dtype: IntegerDType, count: number): readonly bigint[] =>
  Array.from({ length: count }, () => drawInteger(random, dtype));

/** Lengths of whole vectors, and one with a remainder. */
const COUNTS = [8, 16, 17];
const ABOVE = [
  2n ** 7n,
  2n ** 31n - 40n,
  2n ** 31n - 8n,
  2n ** 31n,
  2n ** 32n,
  2n ** 53n,
  2n ** 53n + 2n ** 31n - 8n,
  2n ** 63n + 2n ** 10n,
];
const BELOW = [-(2n ** 31n) + 20n, -(2n ** 31n) - 20n, -(2n ** 53n) - 20n];

/** Unordered lists of 8, 16 and 17 consecutive integers above positive limits and near negative ones. */
export function neighbours(dtype: IntegerDType): readonly (readonly bigint[])[] {
  return [...ABOVE, ...BELOW]
    .filter((base) => holds(dtype, base) && holds(dtype, base + 17n))
    .flatMap((base) =>
      COUNTS.map((count) => Array.from({ length: count }, (_, at) => base + BigInt((at * 5 + 3) % count))),
    );
}

/** Integers that f32, and for 64 bits also f64, cannot hold exactly; in u8, which f32 holds, any integers. */
export function oddIntegers(dtype: IntegerDType, shape: Shape, offset = 0): HostTensor {
  const size = elementCount(shape, "test data");
  const start: Readonly<Record<IntegerDType, readonly [base: bigint, step: bigint]>> = {
    i32: [2n ** 24n + 1n, 65_538n],
    i64: [2n ** 53n + 1n, 2n ** 34n + 2n],
    u64: [2n ** 63n + 2n ** 53n + 1n, 2n ** 34n + 2n],
    u8: [101n, 3n],
  };
  const [base, step] = start[dtype];
  return integerData(
    dtype,
    Array.from({ length: size }, (_, at) => {
      const x = base + step * BigInt(at + offset);
      return wrap(dtype, words[dtype].signed && at % 2 === 1 ? -x : x);
    }),
    shape,
  );
}

/** Rounds an integer once to a float format, ties to even. */
export function roundInteger(dtype: FloatDType, x: bigint): number {
  const { fractionBits, maxFinite } = floatFormats[dtype];
  const size = x < 0n ? -x : x;
  const excess = size.toString(2).length - (fractionBits + 1);
  if (excess <= 0) return Number(x);
  const shift = BigInt(excess);
  const kept = size >> shift;
  const rest = size - (kept << shift);
  const half = 1n << (shift - 1n);
  const up = rest > half || (rest === half && kept % 2n === 1n);
  const rounded = Number((up ? kept + 1n : kept) << shift);
  return Math.sign(Number(x)) * (rounded > maxFinite ? Number.POSITIVE_INFINITY : rounded);
}

/** Ties of a float format and their neighbors, at every magnitude of the dtype, where double rounding goes wrong. */
export function integerTies(dtype: IntegerDType, to: FloatDType): readonly bigint[] {
  const { fractionBits, maxFinite } = floatFormats[to];
  const { bits, signed } = words[dtype];
  const ties: bigint[] = [];
  for (let shift = 1n; BigInt(fractionBits) + 1n + shift <= BigInt(bits); shift++) {
    const leading = 1n << BigInt(fractionBits);
    for (const kept of [leading, leading + 1n, leading + 5n, 2n * leading - 2n, 2n * leading - 1n]) {
      const tie = (kept << shift) + (1n << (shift - 1n));
      ties.push(tie - 1n, tie, tie + 1n);
    }
  }
  const both = signed ? [...ties, ...ties.map((x) => -x)] : ties;
  // Beyond the largest number a manifest may declare saturation, which other cases test.
  return both.filter((x) => holds(dtype, x) && Math.abs(roundInteger(to, x)) <= maxFinite);
}
