import type { DType, HostTensor, Shape } from "@mp/core";
import { elementCount, type OpOf, type ScatterReduction } from "@mp/core/graph";
import { generated } from "../../host-data.js";
import type { RandomSource } from "../../random-source.js";
import type { GeneratedRows } from "../generated-row.js";
import { exact, type OpSample, sample } from "../op-sample.js";
import { formAt, labelled, lengthsOf, terms } from "./tail-data.js";

/** Indices of which the last one is the largest. */
function indices(random: RandomSource, shape: Shape, size: number): HostTensor {
  const last = elementCount(shape, "test data") - 1;
  return generated("i32", shape, (at) => (at === last ? size - 1 : random.integer(-size, size - 1)));
}

/** Each index once, in no order. */
function permutation(random: RandomSource, size: number, shape: Shape): HostTensor {
  const order = Array.from({ length: size }, (_, at) => ({ at, key: random.next() }));
  order.sort((a, b) => a.key - b.key);
  return generated("i32", shape, (place) => order[place]?.at ?? 0);
}

const REDUCTIONS: readonly ScatterReduction[] = ["none", "add", "max", "mul", "min"];

/** Bools are moved only. */
const reductionAt = (dtype: DType, length: number): ScatterReduction =>
  dtype === "bool" ? "none" : formAt(REDUCTIONS, length);

/** Data and updates: labels that are moved, or small whole numbers that are combined. */
const numbers = (
  random: RandomSource,
  dtype: DType,
  shape: Shape,
  reduction: ScatterReduction,
): HostTensor => (reduction === "none" ? labelled(random, dtype, shape) : terms(random, dtype, shape));

type Indexed = readonly [axis: number, data: Shape, indices: Shape];

const GATHERED: readonly ((length: number) => Indexed)[] = [
  (n) => [0, [5, n], [4]],
  (n) => [0, [n], [3]],
  (n) => [0, [4], [n]],
  (n) => [1, [3, n], [2]],
  (n) => [1, [2, 3], [n]],
  (n) => [0, [n, 3], [2, 2]],
]; // biome-ignore format: one form a line

const ELEMENTS: readonly ((length: number) => Indexed)[] = [
  (n) => [0, [n], [n]],
  (n) => [1, [3, n], [3, 2]],
  (n) => [0, [4, n], [2, n]],
  (n) => [1, [2, 5], [2, n]],
  (n) => [0, [n, 2], [3, 2]],
]; // biome-ignore format: one form a line

export const indexingTails: GeneratedRows<OpOf<"indexing">> = {
  Gather: (dtype, random) =>
    lengthsOf(dtype).map((length) => {
      const [axis, data, shape] = formAt(GATHERED, length)(length);
      return sample<"Gather">(
        { axis },
        labelled(random, dtype, data),
        indices(random, shape, data[axis] ?? 1),
      );
    }),
  GatherElements: (dtype, random) =>
    lengthsOf(dtype).map((length) => {
      const [axis, data, shape] = formAt(ELEMENTS, length)(length);
      return sample<"GatherElements">(
        { axis },
        labelled(random, dtype, data),
        indices(random, shape, data[axis] ?? 1),
      );
    }),
  GatherND: (dtype, random) =>
    lengthsOf(dtype).map((length) => {
      const [data, count] = formAt([[[4, length], 3] as const, [[length], length] as const], length);
      return sample<"GatherND">(
        { batchDims: 0 },
        labelled(random, dtype, data),
        indices(random, [count, 1], data[0] ?? 1),
      );
    }),
  ScatterElements: (dtype, random) =>
    lengthsOf(dtype).map((length): OpSample<"ScatterElements"> => {
      const reduction = reductionAt(dtype, length);
      const wide = length % 2 === 0;
      const shape = wide ? [length, 2] : [length];
      // Along the first axis of two columns, each has the indices of the other.
      const places = permutation(random, length, [length]);
      const picked = wide ? generated("i32", shape, (at) => Number(places.data[Math.floor(at / 2)])) : places;
      return exact<"ScatterElements">(
        { axis: 0, reduction },
        numbers(random, dtype, shape, reduction),
        picked,
        numbers(random, dtype, shape, reduction),
      );
    }),
  ScatterND: (dtype, random) =>
    lengthsOf(dtype).map((length) => {
      const reduction = reductionAt(dtype, length);
      const of = (data: Shape, count: number, updates: Shape) =>
        exact<"ScatterND">(
          { reduction },
          numbers(random, dtype, data, reduction),
          permutation(random, data[0] ?? 1, [count, 1]),
          numbers(random, dtype, updates, reduction),
        );
      return length % 2 === 0 ? of([5, length], 3, [3, length]) : of([length], length, [length]);
    }),
  OneHot: (_, random) =>
    lengthsOf("f32").map((length) => {
      const dtype = formAt(["f32", "i32", "f32"] as const, length);
      const of = (depth: number, count: number, axis: number) =>
        sample<"OneHot">({ axis, depth, dtype }, indices(random, [count], depth));
      return length % 2 === 0
        ? of(length, 3, length % 4 === 0 ? 0 : 1)
        : of(5, length, length % 4 === 1 ? 0 : 1);
    }),
};
