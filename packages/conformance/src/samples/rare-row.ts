/** Forms that programs seldom use and kernels seldom run: NaN and ties in searches, small results, subnormals. */
import { type DType, elementCount, type HostTensor, type Op, type Shape } from "@mp/graph";
import { hostData } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import type { OpSample } from "./op-sample.js";

/** A case in each of the dtypes. */
export interface RareRow<K extends Op> {
  readonly behaviour: string;
  readonly dtypes: readonly DType[];
  readonly samples: (dtype: DType) => readonly OpSample<K>[];
}

export const rareRow = <K extends Op>(
  behaviour: string,
  dtypes: readonly DType[],
  samples: RareRow<K>["samples"],
): RareRow<K> => ({ behaviour, dtypes, samples });

export const HALVES_TOO: readonly DType[] = ["f32", "f16", "bf16"];

/** Calls `make` `count` times and lists the results. */
export const times = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Random indices of an axis, counted from either end. */
export function drawIndices(random: RandomSource, shape: Shape, size: number): HostTensor {
  const draw = (): number => random.integer(-size, size - 1);
  return hostData("i32", times(elementCount(shape, "test data"), draw), shape);
}

/** A random permutation of 0 … size - 1, with some of the indices counted from the end. */
export function drawPermutation(random: RandomSource, size: number): number[] {
  const order = times(size, (at) => at).slice();
  for (let at = size - 1; at > 0; at--) {
    const other = random.integer(0, at);
    [order[at], order[other]] = [order[other] as number, order[at] as number];
  }
  return order.map((index) => (random.next() < 0.5 ? index - size : index));
}
