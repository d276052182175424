import type { HostTensor, Shape } from "@mp/core";
import { type ArgOp, type OpOf, REDUCE_OPS, type ReduceOp, rowsOf } from "@mp/core/graph";
import { generated } from "../../host-data.js";
import { exact, sample } from "../op-sample.js";
import {
  counting,
  LONG,
  natural,
  ROWS,
  type SizeRow,
  type SizeRows,
  shuffled,
  TALL,
  WIDE,
  whole,
} from "./size-row.js";

const EXTENTS: readonly (readonly [shape: Shape, axes: readonly number[]])[] = [
  [LONG, [0]],
  [TALL, [0]],
  [TALL, [1]],
  [WIDE, [0, 1]],
  [WIDE, [1]],
  [ROWS, [1]],
  [[3, 1_031, 23], [1]],
]; // biome-ignore format: one extent a line

function reduce<K extends ReduceOp>(make: (shape: Shape) => HostTensor, isExact: boolean): SizeRow<K> {
  const of = isExact ? exact : sample;
  // One kind of attributes for all reductions.
  const samples = () => EXTENTS.map(([shape, axes]) => of<ReduceOp>({ axes, keepdims: false }, make(shape)));
  return samples as unknown as SizeRow<K>;
}

/** 1 and -1, and sometimes 2: products are at most 2^70, and exact. */
const factors = (shape: Shape): HostTensor =>
  generated("f32", shape, (at) => (at % 997 === 996 ? 2 : at % 3 === 0 ? -1 : 1));
/** Generates numbers whose exponentials are 1 and 0. */
const onesAndZeros = (shape: Shape): HostTensor => generated("f32", shape, (at) => (at % 5 < 2 ? 0 : -200));

/** The element to find is somewhere, last and first. */
function search<K extends ArgOp>(): SizeRow<K> {
  const of = (axis: number, x: HostTensor) => sample<"ArgMax">({ axis, keepdims: false }, x);
  const samples = () => [
    of(0, counting(LONG)),
    of(0, counting(LONG, -1)),
    ...[LONG, TALL].map((shape) => of(0, shuffled(shape))),
    ...[TALL, WIDE, ROWS].map((shape) => of(1, shuffled(shape))),
    of(1, counting(WIDE, -1)),
  ];
  return samples as unknown as SizeRow<K>;
}

export const reduceSizes: SizeRows<OpOf<"reduce">> = {
  ...rowsOf(REDUCE_OPS, () => reduce<never>(whole, true)),
  ReduceMean: reduce(whole, false),
  ReduceMax: reduce(shuffled, true),
  ReduceMin: reduce(shuffled, true),
  ReduceProd: reduce(factors, true),
  ReduceL2: reduce(natural, false),
  ReduceLogSum: reduce(natural, false),
  ReduceLogSumExp: reduce(onesAndZeros, false),
  ArgMax: search(),
  ArgMin: search(),
  TopK: () => {
    const of = (axis: number, k: number, largest: boolean, shape: Shape) =>
      sample<"TopK">({ axis, k, largest }, shuffled(shape));
    return [
      of(0, 1_100, true, LONG),
      of(0, 70, false, TALL),
      of(1, 3, true, TALL),
      of(1, 1_001, false, WIDE),
      of(1, 1, true, ROWS),
    ];
  },
  CumSum: () => {
    const of = (axis: number, shape: Shape, exclusive = false, reverse = false) =>
      exact<"CumSum">({ axis, exclusive, reverse }, whole(shape));
    return [of(0, LONG), of(0, LONG, true, true), of(0, TALL, false, true), of(1, TALL), of(1, WIDE, true)];
  },
};
