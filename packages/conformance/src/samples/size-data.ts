/**
 * Sizes at which engines switch to other code: beyond 1 000 of an axis, 4 096 of a batch, 65 536 elements, and beyond
 * 65 535 rows, the limit of a launch grid. Every op is tested beyond each that its operands can have.
 */
import { type DType, elementCount, type HostTensor, type Shape } from "@mp/graph";
import { generate } from "../host-data.js";

/** More than 65 536 elements each. The even axis lets signs cancel. */
export const LONG: Shape = [66_002];
export const TALL: Shape = [4_133, 18];
export const WIDE: Shape = [18, 4_134];
/** More than 65 535 rows. */
export const ROWS: Shape = [66_002, 2];

/** All elements different and exact in f32, for ops that move or search. Descending where the sign is -1. */
export const counting = (shape: Shape, sign: 1 | -1 = 1): HostTensor =>
  generate("f32", shape, (at) => sign * at);

/** All elements different, in no order. */
export function shuffle(shape: Shape, dtype: DType = "f32"): HostTensor {
  const size = elementCount(shape, "test data");
  // A prime that divides none of the sizes here: every value occurs once.
  return generate(dtype, shape, (at) => (at * 7_919) % size);
}

/** -2 … 2 without a short period: every sum of products of them is exact in any order. */
export const whole = (shape: Shape, dtype: DType = "f32"): HostTensor =>
  generate(dtype, shape, (at) => hash(at) - 2);

/** 1 … 5 without a short period. */
export const natural = (shape: Shape, dtype: DType = "f32"): HostTensor =>
  generate(dtype, shape, (at) => hash(at + 17) + 1);

const hash = (at: number): number => (Math.imul(at, 2_654_435_761) >>> 7) % 5;

export const smooth = (shape: Shape, low = -3, high = 3): HostTensor =>
  generate("f32", shape, (at) => low + (high - low) * (0.5 + 0.5 * Math.sin(at * 0.37)));

/**
 * Adjacent elements along an axis are each other's negative, so that sums along it are 0 and sums of squares are exact.
 */
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
