/** Movement along each axis alone and along two at once, in every dtype. */
import type { DType, Shape } from "@mp/core";
import type { Op, OpAttributes, OpOf } from "@mp/core/graph";
import type { RandomSource } from "../../random-source.js";
import type { OpRow, OpRows, OpSample } from "../op-sample.js";
import { alongEach, alongEachTwo, flattened, resized, SHAPES, scattered, subsets } from "./axis-row.js";

type Moved<K extends Op> = readonly [attributes: OpAttributes[K], ...shapes: Shape[]];
type Samples<K extends Op> = Readonly<Record<string, readonly Moved<K>[]>>;

function row<K extends Op>(samplesOf: (dtype: DType, random: RandomSource) => Samples<K>): OpRow<K> {
  return {
    samples: (dtype, random) =>
      Object.fromEntries(
        Object.entries(samplesOf(dtype, random)).map(([behaviour, samples]) => [
          behaviour,
          samples.map(
            ([attributes, ...shapes]): OpSample<K> => ({
              attributes,
              inputs: shapes.map((shape) => scattered(random, dtype, shape)),
            }),
          ),
        ]),
      ),
  };
}

function permutations(axes: readonly number[]): readonly (readonly number[])[] {
  if (axes.length === 0) return [[]];
  return axes.flatMap((first) =>
    permutations(axes.filter((axis) => axis !== first)).map((rest) => [first, ...rest]),
  );
}

type Range = readonly [start: number, end: number, step: number];

/** Ranges of an axis of that size: without its first or last elements, with steps, and backwards. */
const rangesOf = (size: number): readonly Range[] => [
  [1, size, 1],
  [0, size - 1, 1],
  [0, size, 2],
  [1, size, 2],
  [0, size, 3],
  [size - 1, -1, -1],
  [size - 1, 0, -1],
  [size - 2, -1, -1],
  [size - 1, -1, -2],
  [size - 1, -1, -3],
];

const sliceOf = (axes: readonly number[], ranges: readonly Range[]): OpAttributes["Slice"] => ({
  axes,
  starts: ranges.map(([start]) => start),
  ends: ranges.map(([, end]) => end),
  steps: ranges.map(([, , step]) => step),
});

/** Pads of all axes, of which some are not 0. */
function padsOf(
  rank: number,
  amounts: Readonly<Record<number, readonly [number, number]>>,
): readonly number[] {
  const of = (end: 0 | 1): readonly number[] =>
    Array.from({ length: rank }, (_, axis) => amounts[axis]?.[end] ?? 0);
  return [...of(0), ...of(1)];
}

const pad: OpRow<"Pad"> = row((dtype) =>
  Object.fromEntries(
    (["constant", "reflect", "edge"] as const).map((mode) => {
      const value = dtype === "bool" ? 1 : 3;
      const one = (
        shape: Shape,
        amounts: Readonly<Record<number, readonly [number, number]>>,
      ): Moved<"Pad"> => [{ pads: padsOf(shape.length, amounts), mode, value }, shape];
      // Reflection reaches no further than the axis.
      const most = (size: number): number => (mode === "reflect" ? size - 1 : size + 1);
      return [
        `${mode}-along-every-axis`,
        [
          ...alongEach((shape, axis) => {
            const [size = 1] = shape.slice(axis, axis + 1);
            return ([[1, 0], [0, 1], [most(size), 1], [0, most(size)]] as const).map((amounts) =>
              one(shape, { [axis]: amounts }),
            ); // biome-ignore format: one pair an item
          }),
          ...alongEachTwo((shape, first, second) => [
            one(shape, { [first]: [1, 0], [second]: [0, 1] }),
            one(shape, { [first]: [0, 1], [second]: [most(shape[second] ?? 1), 0] }),
          ]),
          ...SHAPES.map((shape) =>
            one(shape, Object.fromEntries(shape.map((size, axis) => [axis, [axis % 2, most(size)]]))),
          ),
        ],
      ];
    }),
  ),
);

const everyAxis = <K extends Op>(samples: readonly Moved<K>[]): OpRow<K> =>
  row(() => ({ "every-axis": samples }));

/** The shape with an axis of 1 inserted at each of those places of the result. */
function widened(shape: Shape, axes: readonly number[]): Shape {
  const rest = [...shape];
  return Array.from({ length: shape.length + axes.length }, (_, axis) =>
    axes.includes(axis) ? 1 : (rest.shift() ?? 1),
  );
}

/** A shape with each set of places, up to five axes in all. */
const WIDENED = [[], [3], [3, 2], [3, 2, 4], [2, 3, 4, 5]].flatMap((shape: Shape) =>
  subsets(5)
    .filter((axes) => (axes.at(-1) ?? 0) < shape.length + axes.length && shape.length + axes.length <= 5)
    .map((axes) => ({ shape, axes })),
);

export const movementAxes: OpRows<OpOf<"movement">> = {
  Reshape: everyAxis(
    alongEachTwo((shape, first, second) => {
      if (second !== first + 1) return [];
      const [a = 1, b = 1] = shape.slice(first, second + 1);
      const around = (...middle: readonly number[]): Shape => [
        ...shape.slice(0, first),
        ...middle,
        ...shape.slice(second + 1),
      ];
      return [[{ shape: around(a * b) }, shape], [{ shape: around(b, a) }, shape]]; // biome-ignore format: one pair a line
    }),
  ),
  Transpose: everyAxis(
    SHAPES.flatMap((shape) =>
      permutations(shape.map((_, axis) => axis)).map((perm): Moved<"Transpose"> => [{ perm }, shape]),
    ),
  ),
  Slice: row((_, random) => ({
    "every-axis": alongEach((shape, axis) =>
      rangesOf(shape[axis] ?? 1).map((range): Moved<"Slice"> => [sliceOf([axis], [range]), shape]),
    ),
    "every-two-axes": alongEachTwo(
      (shape, first, second) =>
      // Listed in either order.
      [[first, second], [second, first]].flatMap((axes) =>
        [0, 1, 2].map((): Moved<"Slice"> => {
          const ranges = axes.map((axis) => rangesOf(shape[axis] ?? 1)[random.integer(0, 9)] as Range);
          return [sliceOf(axes, ranges), shape];
        }),
      ), // biome-ignore format: one pair an item
    ),
  })),
  Concat: everyAxis(
    alongEach((shape, axis) =>
      [[1, 2], [3, 1], [2, 1, 3]].map(
        (sizes): Moved<"Concat"> => [{ axis }, ...sizes.map((size) => resized(shape, axis, size))],
      ),
    ), // biome-ignore format: one list an item
  ),
  Split: everyAxis(
    alongEach((shape, axis) => {
      const size = shape[axis] ?? 1;
      const equal = new Array<number>(size).fill(1);
      return [[1, size - 1], [size - 1, 1], equal, [...equal.slice(2), 2]].map(
        (split): Moved<"Split"> => [{ axis, split }, shape],
      ); // biome-ignore format: one list an item
    }),
  ),
  Expand: everyAxis(
    SHAPES.flatMap((shape) =>
      subsets(shape.length).flatMap((axes): readonly Moved<"Expand">[] => {
        const narrow = flattened(shape, axes);
        const missing = axes.every((axis, at) => axis === at);
        return [[{ shape }, narrow], ...(missing ? [[{ shape }, narrow.slice(axes.length)] as const] : [])];
      }),
    ),
  ),
  Squeeze: everyAxis(WIDENED.map(({ shape, axes }): Moved<"Squeeze"> => [{ axes }, widened(shape, axes)])),
  Unsqueeze: everyAxis(WIDENED.map(({ shape, axes }): Moved<"Unsqueeze"> => [{ axes }, shape])),
  Pad: pad,
  Tile: everyAxis([
    ...alongEach((shape, axis) =>
      [2, 3].map(
        (count): Moved<"Tile"> => [{ repeats: shape.map((_, at) => (at === axis ? count : 1)) }, shape],
      ),
    ),
    ...alongEachTwo((shape, first, second): readonly Moved<"Tile">[] => [
      [{ repeats: shape.map((_, at) => (at === first ? 2 : at === second ? 3 : 1)) }, shape],
    ]),
    ...SHAPES.map((shape): Moved<"Tile"> => [{ repeats: shape.map((_, at) => 1 + ((at + 1) % 3)) }, shape]),
  ]),
};
