import type { DType, HostTensor, Shape } from "@mp/core";
import {
  elementCount,
  isComputeFloat,
  isFloat,
  type Op,
  type OpAttributes,
  type OpOf,
  REDUCE_OPS,
  type ReduceOp,
  rowsOf,
} from "@mp/core/graph";
import { generated } from "../../host-data.js";
import type { RandomSource } from "../../random-source.js";
import type { GeneratedRow, GeneratedRows } from "../generated-row.js";
import { exact, type OpSample, positives, sample } from "../op-sample.js";
import { drawn, formAt, labelled, lengthsOf, placed, terms } from "./tail-data.js";

type Extent = readonly [shape: Shape, axes: readonly number[]];

/** Reduced along the last axis, along the first, over all, and between others. */
const rows = (n: number): Extent => [[3, n], [1]];
const OTHERS: readonly ((length: number) => Extent)[] = [
  (n) => [[n], [0]],
  (n) => [[n, 3], [0]],
  (n) => [[3, n], [0]],
  (n) => [[2, n], [0, 1]],
  (n) => [[2, n, 3], [1]],
  (n) => [[2, 3, n], [0, 2]],
  (n) => [[n, 2], [1]],
  (n) => [[2, 2, n], [1, 2]],
]; // biome-ignore format: one form a line

type Draw = (random: RandomSource, dtype: DType, shape: Shape) => HostTensor;

function row<K extends ReduceOp>(draw: Draw, isExact: boolean): GeneratedRow<K> {
  return (dtype, random) =>
    lengthsOf(dtype).flatMap((length) =>
      [rows(length), formAt(OTHERS, length)(length)].map(([shape, axes], at): OpSample<K> => {
        const attributes = { axes, keepdims: length % 2 === 0 } as unknown as OpAttributes[K];
        const x = draw(random, dtype, shape);
        // The last row ends in NaN.
        const input = at === 0 && isFloat(dtype) ? placed(x, Number.NaN, 3 * length - 1) : x;
        return (isExact ? exact<K> : sample<K>)(attributes, input);
      }),
    );
}

const natural: Draw = (random, dtype, shape) => generated(dtype, shape, () => random.integer(1, 4));
const whole: Draw = (random, dtype, shape) => terms(random, dtype, shape);

/** Powers of two whose products stay near 1, none of them 1; odd numbers, whose products wrap. */
const factors: Draw = (random, dtype, shape) => {
  if (!isComputeFloat(dtype)) return generated(dtype, shape, () => 2 * random.integer(1, 4) + 1);
  let exponent = 0;
  return generated(dtype, shape, () => {
    const step = random.integer(1, 2) * (exponent > 0 ? -1 : 1);
    exponent += step;
    return 2 ** step * (random.next() < 0.5 ? 1 : -1);
  });
};

/** In no order, all different along an axis; the largest or the smallest is last. */
const extreme: Draw = (random, dtype, shape) => {
  const x = labelled(random, dtype, shape);
  const last = elementCount(shape, "test data") - 1;
  const [low, high] = dtype === "u8" || dtype === "u64" ? [0, 255] : [-127, 127];
  // Of three rows one ends in the largest, and one in the smallest.
  const along = shape.at(-1) ?? 1;
  return placed(placed(x, high, along - 1), random.next() < 0.5 ? low : high, last - along, last);
};

function search<K extends Op>(
  attributes: (axis: number, length: number) => OpAttributes[K],
): GeneratedRow<K> {
  return (dtype, random) =>
    lengthsOf(dtype).flatMap((length) =>
      ([[[3, length], 1], formAt([[[length], 0], [[length, 3], 0], [[2, length, 3], 1]] as const, length)] as const).map(
        ([shape, axis]) => sample<K>(attributes(axis, length), extreme(random, dtype, [...shape])),
      ),
    ); // biome-ignore format: one list of forms
}

export const reduceTails: GeneratedRows<OpOf<"reduce">> = {
  ...rowsOf(REDUCE_OPS, () => row<never>(whole, true)),
  ReduceMean: row(whole, false),
  ReduceMax: row(extreme, true),
  ReduceMin: row(extreme, true),
  ReduceProd: row(factors, true),
  ReduceL2: row(natural, false),
  ReduceLogSum: row(positives, false),
  ReduceLogSumExp: row((random, dtype, shape) => drawn(random, dtype, shape, [-2, 2]), false),
  ArgMax: search((axis, length) => ({ axis, keepdims: length % 2 === 0 })),
  ArgMin: search((axis, length) => ({ axis, keepdims: length % 2 === 0 })),
  TopK: search((axis, length) => ({
    axis,
    k: Math.min(length, formAt([1, 2, 5, 70], length)),
    largest: length % 2 === 0,
  })),
  CumSum: (dtype, random) =>
    lengthsOf(dtype).flatMap((length) =>
      ([[[2, length], 1], formAt([[[length], 0], [[length, 3], 0], [[2, length, 3], 1]] as const, length)] as const).map(
        ([shape, axis], at) =>
          exact<"CumSum">(
            { axis, exclusive: (length + at) % 3 === 0, reverse: (length + at) % 2 === 0 },
            terms(random, dtype, [...shape]),
          ),
      ),
    ), // biome-ignore format: one list of forms
};
