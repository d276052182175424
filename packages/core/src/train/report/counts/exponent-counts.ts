/**
 * Counts floats by binary exponent inside a graph. The exponent is a logarithm rounded down, which may be off near a
 * power of two. It is therefore estimated slightly too low, then raised if a table shows that the next power is
 * reached: exact for every float that the engine does not flush to 0.
 */
import { elementCount, type Tensor, tensor } from "@mp/graph";
import {
  abs,
  add,
  cast,
  clip,
  concat,
  constant,
  equal,
  expand,
  floor,
  gather,
  greaterOrEqual,
  isNan,
  lessOrEqual,
  literal,
  log,
  mul,
  reduceMax,
  reduceSum,
  reshape,
  scatterElements,
  slice,
  sub,
  where,
} from "@mp/graph/ops";

/** Exponent of the first count, which includes everything below 2^-126, since engines may flush it to 0. */
const FIRST_EXPONENT = -127;
const LAST_EXPONENT = 127;
const EXPONENTS = LAST_EXPONENT - FIRST_EXPONENT + 1;

/** A row of counts has one bin per exponent, then three more, at these indices: zero or non-finite; finite; NaN. */
const ZERO_OR_NOT_FINITE = EXPONENTS;
const FINITE = EXPONENTS + 1;
const NOT_A_NUMBER = EXPONENTS + 2;
export const ROW: number = EXPONENTS + 3;

const LARGEST_F32 = (2 - 2 ** -23) * 2 ** 127;
/** Larger than the error of the logarithm (below 1e-4 up to 2^127), and too small to skip an exponent. */
const LOW_BY = 1e-3;

/** Sums of ones in f32 are exact up to this number. */
export const LONGEST: number = 2 ** 24;

/** Number of values per binary exponent e, 2^e ≤ |x| < 2^(e+1). */
export interface ExponentHistogram {
  /** Exponent of the first of `counts`; 0 if there are none. */
  readonly first: number;
  /** Number of values of each exponent from `first` on, without zeros at either end. */
  readonly counts: readonly number[];
  readonly zeros: number;
  readonly infinities: number;
  readonly nans: number;
  /** The largest finite magnitude; 0 if all are 0. */
  readonly largest: number;
}

export interface CountedTensor {
  /** Counts, f32 [ROW]; exact while the tensor has at most LONGEST values. */
  readonly row: Tensor;
  /** The largest finite magnitude, f32 [1]. */
  readonly largest: Tensor;
}

/** Splits the elements into vectors short enough to be counted exactly. */
export function splitVectors(tensor: Tensor): readonly Tensor[] {
  const size = elementCount(tensor.shape, "precisionReport");
  const vector = reshape(tensor, [size]);
  if (size <= LONGEST) return [vector];
  return Array.from({ length: Math.ceil(size / LONGEST) }, (_, index) => {
    const start = index * LONGEST;
    return slice(vector, [{ axis: 0, start, end: Math.min(size, start + LONGEST) }]);
  });
}

/** Counts a float vector [n]. */
export function countExponents(vector: Tensor): CountedTensor {
  const magnitude = abs(cast(vector, "f32"));
  // Comparisons with NaN are false, so this also excludes NaN.
  const finite = lessOrEqual(magnitude, LARGEST_F32);
  // Non-finite values and zeros are counted in the lowest exponent; their numbers are subtracted again.
  const safe = where(finite, magnitude, 0);
  const low = floor(sub(mul(log(safe), Math.LOG2E), LOW_BY));
  const index = sub(clip(low, { min: FIRST_EXPONENT, max: LAST_EXPONENT }), FIRST_EXPONENT);
  const next = gather(constant(nextPowers()), cast(index, "i32"));
  const place = add(index, cast(greaterOrEqual(safe, next), "f32"));
  const ones = expand(literal(1), vector.shape);
  const exponents = scatterElements(expand(literal(0), [EXPONENTS]), cast(place, "i32"), ones, {
    reduction: "add",
  });
  const [zeros, finites, nans] = [equal(safe, 0), finite, isNan(magnitude)].map((is) =>
    reshape(reduceSum(cast(is, "f32")), [1]),
  ) as [Tensor, Tensor, Tensor];
  return {
    row: concat([exponents, zeros, finites, nans]),
    largest: reshape(reduceMax(safe), [1]),
  };
}

/** The power of two above each exponent. A new tensor for each graph, since a backend may keep a constant's array. */
const nextPowers = () =>
  tensor(Float32Array.from({ length: EXPONENTS }, (_, index) => 2 ** (FIRST_EXPONENT + index + 1)));

/** Sums rows of counts from `countExponents`, and takes the largest of their magnitudes. */
export function buildHistogram(
  rows: readonly ArrayLike<number>[],
  largest: readonly number[],
): ExponentHistogram {
  const sums = Array.from({ length: ROW }, (_, place) =>
    rows.reduce((sum, row) => sum + (row[place] as number), 0),
  );
  const at = (place: number): number => sums[place] as number;
  const exponents = sums.slice(0, EXPONENTS);
  const placed = exponents.reduce((sum, count) => sum + count, 0);
  exponents[0] = at(0) - at(ZERO_OR_NOT_FINITE);
  const notFinite = placed - at(FINITE);
  const from = exponents.findIndex((count) => count > 0);
  const to = exponents.findLastIndex((count) => count > 0) + 1;
  return {
    first: from < 0 ? 0 : FIRST_EXPONENT + from,
    counts: from < 0 ? [] : exponents.slice(from, to),
    zeros: at(ZERO_OR_NOT_FINITE) - notFinite,
    infinities: notFinite - at(NOT_A_NUMBER),
    nans: at(NOT_A_NUMBER),
    largest: Math.max(0, ...largest),
  };
}

/** The sum of histograms. */
export function addHistograms(histograms: readonly ExponentHistogram[]): ExponentHistogram {
  const filled = histograms.filter(({ counts }) => counts.length > 0);
  const first = Math.min(...filled.map((histogram) => histogram.first));
  const end = Math.max(...filled.map((histogram) => histogram.first + histogram.counts.length));
  const total = (of: (histogram: ExponentHistogram) => number): number =>
    histograms.reduce((sum, histogram) => sum + of(histogram), 0);
  const length = filled.length === 0 ? 0 : end - first;
  return {
    first: filled.length === 0 ? 0 : first,
    counts: Array.from({ length }, (_, index) =>
      total((histogram) => histogram.counts[first + index - histogram.first] ?? 0),
    ),
    zeros: total(({ zeros }) => zeros),
    infinities: total(({ infinities }) => infinities),
    nans: total(({ nans }) => nans),
    largest: Math.max(0, ...histograms.map(({ largest }) => largest)),
  };
}
