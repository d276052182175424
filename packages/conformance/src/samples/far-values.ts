/** Numbers at which functions of floats overflow, underflow, round, or lose their argument. */
import { type ComputeDType, decode, encode, floatFormats } from "@mp/graph";

/** Integers and fractions near powers of two that are limits of a format or an integer dtype. */
const NEAR_POWERS = [10, 11, 16, 22, 23, 24, 31, 32, 52, 63].flatMap((power) => [
  2 ** power - 1,
  2 ** power - 0.5,
  2 ** power,
  2 ** power + 1,
]);

/** Arguments near which exponentials, their sums and hyperbolic functions reach the limits of f16, f32 or f64. */
const NEAR_EXPONENTS = [
  8, 9, 11, 11.09, 12, 16, 17, 20, 30, 44, 45, 87, 88, 89, 103, 104, 105, 709, 710, 746,
];

/** Numbers near ties, multiples of π / 2, and the limits of f16 and bf16. */
const OTHERS = [
  0.25,
  0.5,
  0.75,
  1,
  1.5,
  Math.PI / 2,
  2.5,
  3,
  Math.PI,
  3.5,
  4.5,
  2 * Math.PI,
  100.5,
  1e3,
  65504,
  65519,
  65520,
  65536,
  1e5,
  1e6,
  1e10,
  1e19,
  2e19,
  1e30,
];

/** All numbers with both signs, with NaN of either sign. */
export function farValues(dtype: ComputeDType): readonly number[] {
  const { maxFinite, minNormal, minSubnormal, fractionBits } = floatFormats[dtype];
  const step = 2 ** -fractionBits;
  const ends = [
    0,
    minSubnormal,
    minNormal - minSubnormal,
    minNormal,
    minNormal * (1 + step),
    2 ** -10,
    0.5 - step / 4,
    0.5 + step / 2,
    1 - step / 2,
    1 + step,
    maxFinite * (1 - step),
    maxFinite / 2,
    maxFinite,
  ];
  const all = [...ends, ...OTHERS, ...NEAR_EXPONENTS, ...NEAR_POWERS].map((x) =>
    decode(dtype, encode(dtype, x)),
  );
  const positive = [...new Set([...all.filter((x) => Number.isFinite(x)), Number.POSITIVE_INFINITY])];
  return [...positive, ...positive.map((x) => -x), Number.NaN, -Number.NaN];
}
