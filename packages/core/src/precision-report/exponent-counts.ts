/**
 * Counting floats by binary exponent inside a graph. The exponent is a logarithm rounded down, which near a power of
 * two may miss it, so it is taken a little low and raised where a table says that the next power has been reached:
 * exact for every float that the engine does not flush.
 */
import { tensor } from "../host-tensor.js";
import {
  abs,
  add,
  cast,
  clip,
  equal,
  floor,
  greaterOrEqual,
  isNan,
  lessOrEqual,
  literal,
  log,
  mul,
  sub,
  where,
} from "../trace/ops/elementwise.js";
import { constant, expand, gather, reshape, scatterElements } from "../trace/ops/movement.js";
import { reduceMax } from "../trace/ops/reduce.js";
import type { Tensor } from "../trace/tensor.js";

/** Exponent of the first count, in which everything below 2^-126 is: engines may flush it to 0. */
const FIRST_EXPONENT = -127;
const LAST_EXPONENT = 127;
const EXPONENTS = LAST_EXPONENT - FIRST_EXPONENT + 1;

/** Places in a row of counts: zeros, exponents in order, infinities, NaN. */
const ZERO = 0;
const INFINITE = EXPONENTS + 1;
const NOT_A_NUMBER = EXPONENTS + 2;
export const ROW: number = EXPONENTS + 3;

const LARGEST_F32 = (2 - 2 ** -23) * 2 ** 127;
/** More than the logarithm's error (below 1e-4 up to 2^127), and less than would skip an exponent. */
const LOW_BY = 1e-3;

/** How many values lie where; powers of two bound the exponents, 2^e ≤ |x| < 2^(e+1). */
export interface ExponentHistogram {
  /** Exponent that `counts` begins at; 0 where there are none. */
  readonly first: number;
  /** Values of each exponent from `first` on, without zeros at either end. */
  readonly counts: readonly number[];
  readonly zeros: number;
  readonly infinities: number;
  readonly nans: number;
  /** The largest finite magnitude, 0 where there is none but 0. */
  readonly largest: number;
}

export interface CountedTensor {
  /** f32 [ROW]; exact while the tensor holds no more than 2^24 values. */
  readonly row: Tensor;
  /** The largest finite magnitude, f32 [1]. */
  readonly largest: Tensor;
}

/** Counts a float vector [n]. */
export function countExponents(vector: Tensor): CountedTensor {
  const magnitude = abs(cast(vector, "f32"));
  // Comparisons with NaN are false, so this is one test for both.
  const finite = lessOrEqual(magnitude, LARGEST_F32);
  const safe = where(finite, magnitude, 1);
  const low = floor(sub(mul(log(safe), Math.LOG2E), LOW_BY));
  const index = sub(clip(low, { min: FIRST_EXPONENT, max: LAST_EXPONENT }), FIRST_EXPONENT);
  const next = gather(constant(nextPowers), cast(index, "i32"));
  const raised = add(add(index, 1), cast(greaterOrEqual(safe, next), "f32"));
  const notFinite = where(isNan(magnitude), literal(NOT_A_NUMBER), INFINITE);
  const place = where(finite, where(equal(magnitude, 0), ZERO, raised), notFinite);
  const ones = expand(literal(1), vector.shape);
  return {
    row: scatterElements(expand(literal(0), [ROW]), cast(place, "i32"), ones, { reduction: "add" }),
    largest: reshape(reduceMax(where(finite, magnitude, 0)), [1]),
  };
}

/** Where the exponent after each begins. */
const nextPowers = tensor(
  Float32Array.from({ length: EXPONENTS }, (_, index) => 2 ** (FIRST_EXPONENT + index + 1)),
);

/** Sums up rows of counts, as `countExponents` gives them, and the largest of the magnitudes. */
export function histogramOf(
  rows: readonly ArrayLike<number>[],
  largest: readonly number[],
): ExponentHistogram {
  const sums = Array.from({ length: ROW }, (_, place) =>
    rows.reduce((sum, row) => sum + (row[place] as number), 0),
  );
  const exponents = sums.slice(1, EXPONENTS + 1);
  const from = exponents.findIndex((count) => count > 0);
  const to = exponents.findLastIndex((count) => count > 0) + 1;
  return {
    first: from < 0 ? 0 : FIRST_EXPONENT + from,
    counts: from < 0 ? [] : exponents.slice(from, to),
    zeros: sums[ZERO] as number,
    infinities: sums[INFINITE] as number,
    nans: sums[NOT_A_NUMBER] as number,
    largest: Math.max(0, ...largest),
  };
}

/** One histogram of all. */
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
