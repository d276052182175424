/** Reads and writes at indices counted from either end, and index tuples of each length after some batch axes. */
import {
  type DType,
  elementCount,
  type HostTensor,
  isComputeFloat,
  isHalf,
  type Op,
  type OpAttributes,
  type OpOf,
  type ScatterReduction,
  type Shape,
  tensor,
} from "@mp/graph";
import * as ops from "@mp/graph/ops";
import { type Draws, generate, hostData } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import { alongEach, anyElements, resize } from "./axis-data.js";
import { gradient, indexTensor, SOURCE, spread } from "./gradient-sample.js";
import type { OpTable } from "./op-row.js";
import { countUp, exact, type OpSample, type Sampled, sample, smallIntegers } from "./op-sample.js";
import { drawIndices, drawPermutation, HALVES_TOO, times } from "./rare-row.js";
import { setting } from "./setting.js";
import { counting, LONG, TALL, WIDE, whole } from "./size-data.js";
import { indexSubnormals } from "./subnormals.js";
import { formAt, label, lengths, movable, terms } from "./tail-data.js";

type Indexed<K extends Op> = readonly [
  attributes: OpAttributes[K],
  data: Shape,
  indices: Shape,
  values: readonly number[],
];

function indexSamples<K extends Op>(samples: readonly Indexed<K>[]): Sampled<K> {
  return ({ dtype }) => ({
    values: samples.map(([attributes, data, shape, values]) =>
      sample(attributes, movable(dtype, data), hostData("i32", values, shape)),
    ),
  });
}

const REDUCTIONS: readonly ScatterReduction[] = ["add", "mul", "max", "min"];

/** Whether scatters can combine elements of the dtype; f8 and bool are only moved. */
const combines = (dtype: DType): boolean => !["f8e4m3", "f8e5m2", "bool"].includes(dtype);

/** Operands with NaN in the data and in the updates, before and after other updates of the same element. */
function withNan(dtype: DType, indices: Shape): readonly HostTensor[] {
  const nan = Number.NaN;
  const updates = [1, nan, 5, -5, 4, nan, nan];
  return [
    hostData(dtype, [nan, 1, 2, nan, 3]),
    hostData("i32", NAN_PLACES, indices),
    hostData(dtype, updates),
  ];
}

const NAN_PLACES = [0, 1, 1, 2, 4, 4, 3];

/** Small whole numbers, exact in any order, also in products of at most two of them. */
const wholeFrom = (dtype: DType, shape: Shape, offset: number): HostTensor => {
  const low = dtype === "u8" || dtype === "u64" ? 0 : -2;
  return generate(dtype, shape, (at) => low + ((at * 3 + offset) % 5));
};

/** A number and three ones to add to it. A half dtype would lose the ones, so the sum must accumulate in f32. */
function accumulating(dtype: DType): readonly [data: HostTensor, updates: HostTensor] {
  const big = dtype === "bf16" ? 256 : 2048;
  return [hostData(dtype, [big, 1]), hostData(dtype, [1, 1, 1])];
}

/** Random indices; the last one is the largest. */
function tailIndices(random: RandomSource, shape: Shape, size: number): HostTensor {
  const last = elementCount(shape, "test data") - 1;
  return generate("i32", shape, (at) => (at === last ? size - 1 : random.integer(-size, size - 1)));
}

/** Each index once, in random order. */
function shuffleIndices(random: RandomSource, size: number, shape: Shape): HostTensor {
  const order = Array.from({ length: size }, (_, at) => ({ at, key: random.next() }));
  order.sort((a, b) => a.key - b.key);
  return generate("i32", shape, (place) => order[place]?.at ?? 0);
}

const TAIL_REDUCTIONS: readonly ScatterReduction[] = ["none", "add", "max", "mul", "min"];

/** The reduction at a length; none for bools, which are only moved. */
const reductionAt = (dtype: DType, length: number): ScatterReduction =>
  dtype === "bool" ? "none" : formAt(TAIL_REDUCTIONS, length);

/** Data or updates: distinct labels if they are only moved, otherwise small whole numbers. */
const dataFor = (draws: Draws, shape: Shape, reduction: ScatterReduction): HostTensor =>
  reduction === "none" ? label(draws, shape) : terms(draws, shape);

type Gathered = readonly [axis: number, data: Shape, indices: Shape];

const GATHERED: readonly ((length: number) => Gathered)[] = [
  (n) => [0, [5, n], [4]],
  (n) => [0, [n], [3]],
  (n) => [0, [4], [n]],
  (n) => [1, [3, n], [2]],
  (n) => [1, [2, 3], [n]],
  (n) => [0, [n, 3], [2, 2]],
]; // biome-ignore format: one form a line

const ELEMENTS: readonly ((length: number) => Gathered)[] = [
  (n) => [0, [n], [n]],
  (n) => [1, [3, n], [3, 2]],
  (n) => [0, [4, n], [2, n]],
  (n) => [1, [2, 5], [2, n]],
  (n) => [0, [n, 2], [3, 2]],
]; // biome-ignore format: one form a line

/** Unordered indices below `size`, including negative ones. */
const manyIndices = (shape: Shape, size: number): HostTensor =>
  generate("i32", shape, (at) => ((at * 7_919 + 5) % size) - (at % 3 === 0 ? size : 0));

/** Every index below `size` once, so that the order of updates does not matter. */
const eachIndexOnce = (size: number): HostTensor => generate("i32", [size], (at) => (at * 7_919) % size);

/** Indices that are all different along the axis, so that the order of updates does not matter. */
function distinctIndices(random: RandomSource, shape: Shape, axis: number, size: number): HostTensor {
  const inner = elementCount(shape.slice(axis + 1), "test data");
  const count = shape[axis] ?? 1;
  const lines = new Map<number, readonly number[]>();
  return hostData(
    "i32",
    times(elementCount(shape, "test data"), (at) => {
      const line = Math.floor(at / (inner * count)) * inner + (at % inner);
      const order = lines.get(line) ?? drawPermutation(random, size);
      lines.set(line, order);
      return order[Math.floor(at / inner) % count] ?? 0;
    }),
    shape,
  );
}

/** Index tuples into `sizes`, with indices counted from either end. */
function tuples(random: RandomSource, outer: Shape, sizes: Shape): HostTensor {
  const values = times(elementCount(outer, "test data"), () =>
    sizes.map((size) => random.integer(-size, size - 1)),
  ).flat();
  return hostData("i32", values, [...outer, sizes.length]);
}

/** One or two different index tuples, with indices counted from either end. */
function twoTuples(random: RandomSource, sizes: Shape): HostTensor {
  const places = drawPermutation(random, elementCount(sizes, "test data")).slice(0, 2);
  const values = places.flatMap((place) => {
    let rest = place < 0 ? place + elementCount(sizes, "test data") : place;
    return sizes
      .toReversed()
      .map((size) => {
        const index = rest % size;
        rest = Math.floor(rest / size);
        return random.next() < 0.5 ? index - size : index;
      })
      .toReversed();
  });
  return hostData("i32", values, [places.length, sizes.length]);
}

export const indexingTable: OpTable<OpOf<"indexing">> = {
  Gather: {
    samples: indexSamples<"Gather">([
      [{ axis: 0 }, [5], [3], [4, 0, 2]],
      [{ axis: 0 }, [5, 2], [2, 3], [4, 0, 2, 2, 1, 3]],
      [{ axis: 1 }, [2, 5], [2], [4, 1]],
      [{ axis: 1 }, [2, 3, 4], [2, 1], [2, 0]],
      [{ axis: 0 }, [5, 2], [], [3]],
      [{ axis: 0 }, [5], [2], [-1, -5]],
      [{ axis: 0 }, [5, 2], [0], []],
      [{ axis: 0 }, [5, 0], [2], [1, 0]],
    ]),
    tails: (draws) =>
      lengths(draws.dtype).map((length) => {
        const [axis, data, shape] = formAt(GATHERED, length)(length);
        return sample({ axis }, label(draws, data), tailIndices(draws.random, shape, data[axis] ?? 1));
      }),
    sizes: () => [
      sample({ axis: 0 }, counting(LONG), manyIndices([70_003], 66_002)),
      sample({ axis: 0 }, counting(TALL), manyIndices([4_200], 4_133)),
      sample({ axis: 1 }, counting(WIDE), manyIndices([4_200], 4_134)),
      sample({ axis: 0 }, counting([7, 3]), manyIndices([66_002], 7)),
    ],
    axes: (draws, shapes) => ({
      "every-axis": alongEach(shapes, (shape, axis) =>
        [[], [3], [1], [2, 2], [2, 1, 3]].map((indices) =>
          sample({ axis }, anyElements(draws, shape), drawIndices(draws.random, indices, shape[axis] ?? 1)),
        ),
      ),
    }),
    gradients: [
      gradient("rows", [spread([3, 4])], (x) => ops.gather(x, indexTensor([2, 0]))),
      gradient("repeated-rows-add-up", [spread([3, 4])], (x) =>
        ops.gather(x, indexTensor([1, 1, 2, 1], [2, 2])),
      ),
      gradient("columns", [spread([3, 4])], (x) => ops.gather(x, indexTensor([3, 0, -1]), 1)),
      gradient("one-row", [spread([3, 4])], (x) => ops.gather(x, ops.reshape(indexTensor([1]), []))),
    ],
    rare: [indexSubnormals({ axis: 0 }, [3])],
  },
  GatherElements: {
    samples: indexSamples<"GatherElements">([
      [{ axis: 0 }, [3, 2], [2, 2], [2, 0, 1, 1]],
      [{ axis: 1 }, [2, 3], [2, 3], [2, 1, 0, 0, 0, 2]],
      [{ axis: 1 }, [3, 4], [2, 1], [-1, -4]],
      [{ axis: 0 }, [5], [3], [4, 4, 0]],
      [{ axis: 2 }, [2, 1, 3], [2, 1, 2], [2, 0, 1, 1]],
      [{ axis: 0 }, [3], [0], []],
    ]),
    tails: (draws) =>
      lengths(draws.dtype).map((length) => {
        const [axis, data, shape] = formAt(ELEMENTS, length)(length);
        return sample({ axis }, label(draws, data), tailIndices(draws.random, shape, data[axis] ?? 1));
      }),
    sizes: () => [
      sample({ axis: 0 }, counting(LONG), manyIndices([70_003], 66_002)),
      sample({ axis: 0 }, counting(TALL), manyIndices([4_133, 17], 4_133)),
      sample({ axis: 1 }, counting(WIDE), manyIndices([17, 4_200], 4_134)),
    ],
    // Along the axis there may be more indices than elements; along each other axis, fewer.
    axes: (draws, shapes) => ({
      "every-axis": alongEach(shapes, (shape, axis) => {
        const size = shape[axis] ?? 1;
        const more = resize(shape, axis, size + 2);
        const fewer = shape.flatMap((_, other) => (other === axis ? [] : [resize(more, other, 1)]));
        return [shape, more, ...fewer, resize(shape, axis, 1)].map((indices) =>
          sample({ axis }, anyElements(draws, shape), drawIndices(draws.random, indices, size)),
        );
      }),
    }),
    gradients: [
      gradient("repeated", [spread([2, 3])], (x) =>
        ops.gatherElements(x, indexTensor([0, 2, 2, 1], [2, 2]), 1),
      ),
      gradient("repeated-along-the-middle", [spread([2, 3, 2, 2])], (x) =>
        ops.gatherElements(x, indexTensor([0, 2, -1, 1, 1, 1, 0, 0], [2, 1, 2, 2]), 1),
      ),
    ],
    rare: [indexSubnormals({ axis: 0 }, [1, 3])],
  },
  GatherND: {
    samples: indexSamples<"GatherND">([
      [{ batchDims: 0 }, [3, 4], [2, 2], [0, 3, 2, 1]],
      [{ batchDims: 0 }, [3, 4], [2, 1], [2, 0]],
      [{ batchDims: 0 }, [2, 3, 4], [2, 1, 2], [1, 2, 0, 0]],
      [{ batchDims: 1 }, [2, 3, 2], [2, 1], [2, 0]],
      [{ batchDims: 0 }, [3, 4], [1, 2], [-1, -4]],
      [{ batchDims: 0 }, [4], [1], [2]],
      [{ batchDims: 0 }, [3, 4], [1], [-1]],
      [{ batchDims: 0 }, [2, 3, 4], [3], [1, -1, 0]],
      [{ batchDims: 0 }, [3, 4], [0, 1], []],
      [{ batchDims: 0 }, [3, 0], [2, 1], [1, 0]],
      [{ batchDims: 2 }, [2, 2, 3], [2, 2, 1], [2, -3, 1, 0]],
    ]),
    tails: (draws) =>
      lengths(draws.dtype).map((length) => {
        const [data, count] = formAt([[[4, length], 3] as const, [[length], length] as const], length);
        return sample(
          { batchDims: 0 },
          label(draws, data),
          tailIndices(draws.random, [count, 1], data[0] ?? 1),
        );
      }),
    sizes: () => [
      sample({ batchDims: 0 }, counting(TALL), manyIndices([4_200, 1], 4_133)),
      sample({ batchDims: 0 }, counting(LONG), manyIndices([70_003, 1], 66_002)),
      sample({ batchDims: 1 }, counting(TALL), manyIndices([4_133, 1], 18)),
    ],
    axes: (draws, shapes) => ({
      "every-depth": shapes.flatMap((shape) =>
        shape.flatMap((_, batchDims) =>
          shape.slice(batchDims).flatMap((__, less) =>
            [[], [3], [2, 2]]
              // The last axis holds the tuples, and is not shared.
              .map((outer): OpSample<"GatherND"> => {
                const shared = shape.slice(0, batchDims);
                const sizes = shape.slice(batchDims, batchDims + less + 1);
                return sample(
                  { batchDims },
                  anyElements(draws, shape),
                  tuples(draws.random, [...shared, ...outer], sizes),
                );
              }),
          ),
        ),
      ),
    }),
    gradients: [
      gradient("repeated", [spread([3, 4])], (x) => ops.gatherND(x, indexTensor([0, 1, 2, 1, 0, 1], [3, 2]))),
      gradient("one-row", [spread([3, 4])], (x) => ops.gatherND(x, indexTensor([1]))),
      gradient("one-element", [spread([3, 4])], (x) => ops.gatherND(x, indexTensor([2, -1]))),
    ],
    rare: [indexSubnormals({ batchDims: 0 }, [3, 1])],
  },
  ScatterElements: {
    samples: ({ dtype }) => {
      const one = (
        attributes: OpAttributes["ScatterElements"],
        data: Shape,
        shape: Shape,
        indices: readonly number[],
      ): OpSample<"ScatterElements"> =>
        exact(
          attributes,
          attributes.reduction === "none" ? countUp(dtype, data) : wholeFrom(dtype, data, 0),
          hostData("i32", indices, shape),
          attributes.reduction === "none" ? countUp(dtype, shape, 5) : wholeFrom(dtype, shape, 2),
        );
      const [big, ones] = accumulating(dtype);
      return {
        values: [
          one({ axis: 0, reduction: "none" }, [5], [3], [4, 0, 2]),
          one({ axis: 1, reduction: "none" }, [2, 4], [2, 2], [3, 0, 1, 2]),
          one({ axis: 0, reduction: "none" }, [3, 3], [1, 2], [2, 0]),
          one({ axis: 1, reduction: "none" }, [2, 3], [2, 1], [-1, -3]),
          one({ axis: 0, reduction: "none" }, [3], [0], []),
        ],
        ...(combines(dtype) && {
          "repeated-indices-combine": REDUCTIONS.flatMap((reduction) => [
            one({ axis: 0, reduction }, [4], [6], [1, 3, 0, 0, 1, 3]),
            one({ axis: 1, reduction }, [2, 3], [2, 4], [0, 0, 2, 2, 1, 1, 1, 0]),
          ]),
        }),
        ...(isComputeFloat(dtype) && {
          "nan-comes-through": REDUCTIONS.map((reduction) =>
            sample({ axis: 0, reduction }, ...withNan(dtype, [NAN_PLACES.length])),
          ),
        }),
        ...(isHalf(dtype) && {
          "sums-run-in-f32": [exact({ axis: 0, reduction: "add" }, big, hostData("i32", [0, 0, 0]), ones)],
        }),
      };
    },
    tails: (draws) =>
      lengths(draws.dtype).map((length): OpSample<"ScatterElements"> => {
        const reduction = reductionAt(draws.dtype, length);
        const wide = length % 2 === 0;
        const shape = wide ? [length, 2] : [length];
        // If there are two columns, both have the same indices along the first axis.
        const places = shuffleIndices(draws.random, length, [length]);
        const picked = wide
          ? generate("i32", shape, (at) => Number(places.data[Math.floor(at / 2)]))
          : places;
        return exact(
          { axis: 0, reduction },
          dataFor(draws, shape, reduction),
          picked,
          dataFor(draws, shape, reduction),
        );
      }),
    sizes: () => [
      sample({ axis: 0, reduction: "none" }, whole(LONG), eachIndexOnce(66_002), counting(LONG)),
      exact({ axis: 0, reduction: "add" }, whole(LONG), manyIndices([70_003], 66_002), whole([70_003])),
      exact({ axis: 0, reduction: "add" }, whole([7]), manyIndices([70_003], 7), whole([70_003])),
      exact({ axis: 1, reduction: "add" }, whole(TALL), manyIndices([4_133, 20], 18), whole([4_133, 20])),
      exact(
        { axis: 1, reduction: "max" },
        whole(WIDE),
        manyIndices([18, 4_200], 4_134),
        counting([18, 4_200]),
      ),
    ],
    axes: (draws, shapes) => ({
      "every-axis": alongEach(shapes, (shape, axis) => {
        const size = shape[axis] ?? 1;
        const fewer = shape.flatMap((_, other) => [resize(shape, other, 1)]);
        return [shape, ...fewer].map((indices) =>
          sample(
            { axis, reduction: "none" },
            anyElements(draws, shape),
            distinctIndices(draws.random, indices, axis, size),
            anyElements(draws, indices),
          ),
        );
      }),
      ...(combines(draws.dtype) && {
        "reductions-along-every-axis": alongEach(shapes, (shape, axis) =>
          REDUCTIONS.flatMap((reduction) =>
            // Three updates of one element: their products are exact.
            [resize(shape, axis, 3), ...shape.map((_, other) => resize(shape, other, 1))].map((indices) =>
              exact(
                { axis, reduction },
                smallIntegers(draws, shape),
                drawIndices(draws.random, indices, shape[axis] ?? 1),
                smallIntegers(draws, indices),
              ),
            ),
          ),
        ),
      }),
    }),
    gradients: [
      gradient("replacing", [spread([3, 2]), spread([1, 2], 1)], (x, u) =>
        ops.scatterElements(x, indexTensor([1, 0], [1, 2]), u),
      ),
      gradient("adding", [spread([3, 2]), spread([2, 2], 1)], (x, u) =>
        ops.scatterElements(x, indexTensor([1, 1, 2, 0], [2, 2]), u, { reduction: "add" }),
      ),
    ],
    rare: [indexSubnormals({ axis: 0, reduction: "none" }, [1, 3], [1, 3], HALVES_TOO)],
  },
  ScatterND: {
    samples: ({ dtype }) => {
      const one = (
        reduction: ScatterReduction,
        data: Shape,
        shape: Shape,
        indices: readonly number[],
      ): OpSample<"ScatterND"> => {
        const depth = shape.at(-1) as number;
        const updates = [...shape.slice(0, -1), ...data.slice(depth)];
        return exact(
          { reduction },
          reduction === "none" ? countUp(dtype, data) : wholeFrom(dtype, data, 0),
          hostData("i32", indices, shape),
          reduction === "none" ? countUp(dtype, updates, 5) : wholeFrom(dtype, updates, 2),
        );
      };
      const [big, ones] = accumulating(dtype);
      return {
        values: [
          one("none", [5], [3, 1], [4, 0, 2]),
          one("none", [3, 4], [2, 2], [0, 3, 2, 1]),
          one("none", [3, 4], [2, 1], [2, 0]),
          one("none", [3, 4], [1, 2], [-1, -4]),
          one("none", [2, 2, 2], [1, 1, 2], [1, 0]),
          one("none", [4], [1], [-2]),
          one("none", [3, 4], [1], [1]),
          one("none", [3, 4], [2], [2, -1]),
          one("none", [3, 4], [0, 1], []),
          one("none", [3, 0], [2, 1], [1, 0]),
        ],
        ...(combines(dtype) && {
          "repeated-indices-combine": REDUCTIONS.flatMap((reduction) => [
            one(reduction, [4], [5, 1], [1, 1, 3, 0, 3]),
            one(reduction, [3, 2], [4, 1], [0, 0, 2, 0]),
            one(reduction, [3, 2], [1], [-1]),
            one(reduction, [3, 2], [2], [2, 0]),
          ]),
        }),
        ...(isComputeFloat(dtype) && {
          "nan-comes-through": REDUCTIONS.map((reduction) =>
            sample({ reduction }, ...withNan(dtype, [NAN_PLACES.length, 1])),
          ),
        }),
        ...(isHalf(dtype) && {
          "sums-run-in-f32": [exact({ reduction: "add" }, big, hostData("i32", [0, 0, 0], [3, 1]), ones)],
        }),
      };
    },
    tails: (draws) =>
      lengths(draws.dtype).map((length) => {
        const reduction = reductionAt(draws.dtype, length);
        const of = (data: Shape, count: number, updates: Shape) =>
          exact<"ScatterND">(
            { reduction },
            dataFor(draws, data, reduction),
            shuffleIndices(draws.random, data[0] ?? 1, [count, 1]),
            dataFor(draws, updates, reduction),
          );
        return length % 2 === 0 ? of([5, length], 3, [3, length]) : of([length], length, [length]);
      }),
    sizes: () => [
      sample(
        { reduction: "none" },
        whole(TALL),
        tensor(eachIndexOnce(4_133).data as Int32Array, [4_133, 1]),
        counting(TALL),
      ),
      exact({ reduction: "add" }, whole(TALL), manyIndices([4_200, 1], 4_133), whole([4_200, 18])),
      exact({ reduction: "add" }, whole([5, 3]), manyIndices([66_002, 1], 5), whole([66_002, 3])),
      exact({ reduction: "add" }, whole(LONG), manyIndices([70_003, 1], 66_002), whole([70_003])),
    ],
    axes: (draws, shapes) => ({
      "every-depth": shapes.flatMap((shape) =>
        shape.map((_, less) => {
          const [sizes, rest] = [shape.slice(0, less + 1), shape.slice(less + 1)];
          const indices = twoTuples(draws.random, sizes);
          return sample(
            { reduction: "none" },
            anyElements(draws, shape),
            indices,
            anyElements(draws, [...indices.shape.slice(0, 1), ...rest]),
          );
        }),
      ),
      ...(combines(draws.dtype) && {
        "reductions-at-every-depth": shapes.flatMap((shape) =>
          shape.flatMap((_, less) =>
            REDUCTIONS.flatMap((reduction) =>
              [[], [3], [2, 2]].map((outer): OpSample<"ScatterND"> => {
                const [sizes, rest] = [shape.slice(0, less + 1), shape.slice(less + 1)];
                return exact(
                  { reduction },
                  smallIntegers(draws, shape),
                  tuples(draws.random, outer, sizes),
                  smallIntegers(draws, [...outer, ...rest]),
                );
              }),
            ),
          ),
        ),
      }),
    }),
    gradients: [
      gradient("replacing", [spread([3, 2]), spread([2, 2], 1)], (x, u) =>
        ops.scatterND(x, indexTensor([2, 0], [2, 1]), u),
      ),
      gradient("adding", [spread([3, 2]), spread([2, 2], 1)], (x, u) =>
        ops.scatterND(x, indexTensor([2, 2], [2, 1]), u, { reduction: "add" }),
      ),
      gradient("replacing-one-row", [spread([3, 2]), spread([2], 1)], (x, u) =>
        ops.scatterND(x, indexTensor([-1]), u),
      ),
      gradient("adding-to-one-element", [spread([3, 2]), spread([], 1)], (x, u) =>
        ops.scatterND(x, indexTensor([1, 0]), u, { reduction: "add" }),
      ),
    ],
    rare: [indexSubnormals({ reduction: "none" }, [3, 1], [3, 3])],
  },
  OneHot: {
    samples: () => {
      const one = (
        axis: number,
        shape: Shape,
        indices: readonly number[],
        dtype: OpAttributes["OneHot"]["dtype"],
      ) => sample<"OneHot">({ axis, depth: 4, dtype }, hostData("i32", indices, shape));
      const into = (dtype: OpAttributes["OneHot"]["dtype"]) => [
        one(1, [3], [0, 3, 1], dtype),
        one(0, [3], [0, 3, 1], dtype),
        one(1, [2, 2], [0, 3, 1, 1], dtype),
        one(0, [], [2], dtype),
        one(1, [0], [], dtype),
      ];
      return {
        "values-f32": into("f32"),
        "values-f16": into("f16"),
        "values-bf16": into("bf16"),
        "values-i32": into("i32"),
        "negative-indices-count-from-the-end": [one(1, [2], [-1, -4], "f32")],
        "indices-outside-give-zeros": [one(1, [3], [4, -5, 100], "f32")],
      };
    },
    tails: ({ random }) =>
      lengths("f32").map((length) => {
        const dtype = formAt(["f32", "i32", "f32"] as const, length);
        const of = (depth: number, count: number, axis: number) =>
          sample<"OneHot">({ axis, depth, dtype }, tailIndices(random, [count], depth));
        return length % 2 === 0
          ? of(length, 3, length % 4 === 0 ? 0 : 1)
          : of(5, length, length % 4 === 1 ? 0 : 1);
      }),
    sizes: () => [
      sample({ axis: 1, depth: 18, dtype: "f32" }, manyIndices([4_133], 18)),
      sample({ axis: 1, depth: 4_134, dtype: "f32" }, manyIndices([18], 4_134)),
      sample({ axis: 0, depth: 66_002, dtype: "f32" }, manyIndices([2], 66_002)),
    ],
    axes: ({ random }, shapes) => {
      const into = (dtype: OpAttributes["OneHot"]["dtype"]) =>
        [[], ...shapes.filter(({ length }) => length < 5)].flatMap((shape: Shape) =>
          [...shape, 1].map((__, axis) =>
            sample<"OneHot">({ axis, depth: 4, dtype }, drawIndices(random, shape, 6)),
          ),
        );
      return {
        "every-axis-f32": into("f32"),
        "every-axis-f16": into("f16"),
        "every-axis-bf16": into("bf16"),
        "every-axis-i32": into("i32"),
      };
    },
    options: () => [
      setting(
        "OneHot",
        { axis: [1, 0, 2], depth: [4, 1, 7], dtype: ["f32", "f16", "bf16", "i32"] },
        {},
        (attributes, _, draws) => sample(attributes, drawIndices(draws.random, [2, 5], 5)),
      ),
    ],
    gradients: SOURCE,
  },
};
