/**
 * Sizes at which engines switch to other code: 1 000 elements of an axis, a batch of 4 096, 65 536 elements, and 65 535
 * rows, the limit of a launch grid. Every op is tested above each of these sizes that its operands can exceed.
 */
import { type DType, elementCount, type HostTensor, type Shape } from "@mp/graph";
import { generate } from "../host-data.js";

/** A vector of more than 65 536 elements. Its even length lets signs cancel. */
export const LONG: Shape = [66_002];
/** A matrix of more than 65 536 elements, most of them along columns of more than 4 096. */
export const TALL: Shape = [4_133, 18];
/** A matrix of more than 65 536 elements, with rows of more than 4 096. */
export const WIDE: Shape = [18, 4_134];
/** A shape of more than 65 535 rows. */
export const ROWS: Shape = [66_002, 2];

/** Different elements, exact in f32, for ops that move or search; descending if `sign` is -1. */
export const counting = (shape: Shape, sign: 1 | -1 = 1): HostTensor =>
  generate("f32", shape, (at) => sign * at);

/** Different elements in no order. */
export function shuffle(shape: Shape, dtype: DType = "f32"): HostTensor {
  const size = elementCount(shape, "test data");
  // A prime that divides none of the sizes here, so that every value occurs once.
  return generate(dtype, shape, (at) => (at * 7_919) % size);
}

/** Pseudo-random integers -2 … 2; every sum of their products is exact in any order. */
export const whole = (shape: Shape, dtype: DType = "f32"): HostTensor =>
  generate(dtype, shape, (at) => hash(at) - 2);

/** Pseudo-random integers 1 … 5. */
export const natural = (shape: Shape, dtype: DType = "f32"): HostTensor =>
  generate(dtype, shape, (at) => hash(at + 17) + 1);

const hash = (at: number): number => (Math.imul(at, 2_654_435_761) >>> 7) % 5;

export const smooth = (shape: Shape, low = -3, high = 3): HostTensor =>
  generate("f32", shape, (at) => low + (high - low) * (0.5 + 0.5 * Math.sin(at * 0.37)));

/** Pairs of adjacent elements x, -x along an axis, so that its sums are 0 and sums of squares are exact. */
export function balance(shape: Shape, axis: number): HostTensor {
  const inner = elementCount(shape.slice(axis + 1), "test data");
  return generate("f32", shape, (at) => {
    const place = Math.floor(at / inner);
    return (place % 2 === 0 ? 1 : -1) * (1 + (Math.floor(place / 2) % 3));
  });
}

export const positiveSized = (shape: Shape): HostTensor => smooth(shape, 0.1, 9);

export const bools = (shape: Shape): HostTensor =>
  generate("bool", shape, (at) => (Math.floor(at / 3) + at) % 2);
