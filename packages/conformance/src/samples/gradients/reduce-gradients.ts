import type { Tensor } from "@mp/core";
import type { OpOf } from "@mp/core/graph";
import {
  cumSum,
  reduceL1,
  reduceL2,
  reduceLogSum,
  reduceLogSumExp,
  reduceMax,
  reduceMean,
  reduceMin,
  reduceProd,
  reduceSum,
  reduceSumSquare,
  topK,
} from "@mp/core/ops";
import {
  type GradientRows,
  type GradientSample,
  numbers,
  type Point,
  positive,
  sample,
  spread,
} from "../gradient-sample.js";
import { of1, PREDICATE } from "./of-operands.js";

const reduction = (
  fn: (x: Tensor, options?: { readonly axes?: readonly number[]; readonly keepdims?: boolean }) => Tensor,
  point: (shape: readonly number[]) => Point = spread,
): readonly GradientSample[] => [
  sample(
    "all-axes",
    of1((x) => fn(x)),
    point([3, 4]),
  ),
  sample(
    "first-axis",
    of1((x) => fn(x, { axes: [0] })),
    point([3, 4]),
  ),
  sample(
    "kept-axes",
    of1((x) => fn(x, { axes: [0, 2], keepdims: true })),
    point([2, 3, 4]),
  ),
];

export const reduceGradients: GradientRows<OpOf<"reduce">> = {
  ReduceSum: reduction(reduceSum),
  ReduceMean: reduction(reduceMean),
  ReduceMax: [
    ...reduction(reduceMax),
    sample(
      "ties",
      of1((x) => reduceMax(x, { axes: [1] })),
      { shape: [2, 3], data: [1, 2, 2, 3, 3, 3] },
    ),
  ],
  ReduceMin: reduction(reduceMin),
  ReduceProd: [
    ...reduction(reduceProd, positive),
    sample(
      "a-zero-factor",
      of1((x) => reduceProd(x)),
      numbers(2, 0, 3),
    ),
  ],
  ReduceL1: reduction(reduceL1),
  ReduceL2: reduction(reduceL2),
  ReduceLogSum: reduction(reduceLogSum, positive),
  ReduceLogSumExp: reduction(reduceLogSumExp),
  ReduceSumSquare: reduction(reduceSumSquare),
  ArgMax: PREDICATE,
  ArgMin: PREDICATE,
  TopK: [
    sample(
      "largest",
      of1((x) => topK(x, 2).values),
      spread([2, 5]),
    ),
    sample(
      "smallest",
      of1((x) => topK(x, 2, { largest: false }).values),
      spread([2, 5]),
    ),
    sample(
      "of-images",
      of1((x) => topK(x, 2, { axis: 1 }).values),
      spread([2, 4, 2, 3]),
    ),
    sample(
      "a-single-one",
      of1((x) => topK(x, 1, { axis: 0 }).values),
      spread([4, 1]),
    ),
  ],
  CumSum: [
    sample(
      "plain",
      of1((x) => cumSum(x, 1)),
      spread([2, 5]),
    ),
    sample(
      "exclusive-reverse",
      of1((x) => cumSum(x, 0, { exclusive: true, reverse: true })),
      spread([4, 2]),
    ),
  ],
};
