/** Host tensors for test data: numbers rounded to a dtype, special values, and seeded random numbers. */
import {
  type DType,
  decodeArray,
  elementCount,
  encodeArray,
  type FloatDType,
  floatFormats,
  type HostTensor,
  hostArrayOf,
  isFloat,
  type Shape,
  tensor,
} from "@mp/graph";
import type { RandomSource } from "./random-source.js";

/** A tensor of numbers in a dtype. Floats are rounded once, integers are kept; in bools, any number but 0 is true. */
export function hostData(
  dtype: DType,
  numbers: readonly (number | bigint)[],
  shape: Shape = [numbers.length],
): HostTensor {
  return tensor(
    fillArray(dtype, numbers.length, (at) => numbers[at] as number | bigint) as Float32Array,
    shape,
    dtype as "f32",
  );
}

/** True while new tensors need only types, not data. */
let isSketch = false;

/** Calls `make` so that new tensors hold only zeros. For callers that need only the structure of a graph. */
export function withoutData<T>(make: () => T): T {
  const outer = isSketch;
  isSketch = true;
  try {
    return make();
  } finally {
    isSketch = outer;
  }
}

/** Fills a new array with `f(place)`. 64-bit integers have a loop of their own, for speed: a suite has 10^8 elements. */
function fillArray(dtype: DType, length: number, f: (place: number) => number | bigint): HostTensor["data"] {
  if (isSketch) return new hostArrayOf[dtype](length);
  if (dtype === "i64" || dtype === "u64") {
    const data = new hostArrayOf[dtype](length);
    for (let at = 0; at < length; at++) data[at] = BigInt(f(at));
    return data;
  }
  const numbers = new Float64Array(length);
  for (let at = 0; at < length; at++) numbers[at] = Number(f(at));
  if (isFloat(dtype)) return encodeArray(dtype, numbers);
  const data = new hostArrayOf[dtype](length);
  data.set(numbers);
  return data;
}

/** All elements as numbers. 64-bit integers become doubles. */
export function toNumbers({ dtype, data }: HostTensor): readonly number[] {
  const source = isFloat(dtype) && dtype !== "f32" ? decodeArray(dtype, data as Uint16Array) : data;
  const numbers = new Array<number>(source.length);
  for (let at = 0; at < numbers.length; at++) numbers[at] = Number(source[at]);
  return numbers;
}

/**
 * Integers that arithmetic often gets wrong: the ends of the range and, for 64 bits, integers that engines confuse if
 * they compare 32-bit halves or convert to f64.
 */
export const integerExtremes: Readonly<Partial<Record<DType, readonly bigint[]>>> = {
  i32: [-(2n ** 31n), -(2n ** 31n) + 1n, -7n, -1n, 0n, 1n, 5n, 2n ** 24n + 1n, 2n ** 31n - 1n],
  i64: [
    -(2n ** 63n), -(2n ** 63n) + 1n, -(2n ** 53n) - 1n, -(2n ** 32n), -(2n ** 31n) - 1n, -1n, 0n, 1n, 5n, 2n ** 31n,
    2n ** 32n, 2n ** 53n + 1n, 2n ** 63n - 1n,
  ],
  u64: [0n, 1n, 5n, 2n ** 31n, 2n ** 32n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 63n + 5n, 2n ** 64n - 1n],
  u8: [0n, 1n, 5n, 127n, 128n, 255n],
}; // biome-ignore format: one list a dtype

/** Reverses the order of elements. */
export function backwards({ dtype, shape, data }: HostTensor): HostTensor {
  return { dtype, shape, data: data.slice().reverse() } as HostTensor;
}

/** Source of random numbers, and dtype of the tensors made from them. */
export interface Draws {
  readonly random: RandomSource;
  readonly dtype: DType;
  /** The only behavior whose data is read. Other data may be left out if its random numbers are skipped. */
  readonly only?: string;
}

/** The same random numbers for another dtype. */
export const inDType = (draws: Draws, dtype: DType): Draws => ({ ...draws, dtype });

/** A tensor whose elements are `f(place)`. */
export function generate(dtype: DType, shape: Shape, f: (place: number) => number | bigint): HostTensor {
  const length = elementCount(shape, "test data");
  return tensor(fillArray(dtype, length, f) as Float32Array, shape, dtype as "f32");
}

/** Values of a float format that arithmetic often gets wrong. */
export function specialValues(dtype: FloatDType): readonly number[] {
  const { maxFinite, minNormal, minSubnormal, fractionBits } = floatFormats[dtype];
  const step = 2 ** -fractionBits;
  const positive = [
    0,
    minSubnormal,
    minNormal - minSubnormal,
    minNormal,
    0.5,
    1 - step / 2,
    1,
    1 + step,
    1.5,
    2.5,
    3,
    7.25,
    maxFinite,
    Number.POSITIVE_INFINITY,
  ];
  return [...positive, ...positive.map((x) => -x), Number.NaN];
}

export function randomData(draws: Draws, shape: Shape, low = -3, high = 3): HostTensor {
  const draw = isFloat(draws.dtype)
    ? () => draws.random.between(low, high)
    : () => draws.random.integer(Math.ceil(low), Math.floor(high));
  return generate(draws.dtype, shape, draw);
}

/** Replaces subnormals by zeros, as a flushing engine reads them. */
export function flush(given: HostTensor): HostTensor {
  const { dtype, shape } = given;
  if (!isFloat(dtype)) return given;
  const { minNormal } = floatFormats[dtype];
  const numbers = toNumbers(given).map((x) =>
    Math.abs(x) < minNormal ? (x < 0 || Object.is(x, -0) ? -0 : 0) : x,
  );
  return hostData(dtype, numbers, shape);
}
