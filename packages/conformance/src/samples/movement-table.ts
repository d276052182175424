/** Operators that move elements and keep every bit, in every dtype. */
import {
  type DType,
  type HostTensor,
  isFloat,
  type Op,
  type OpAttributes,
  type OpOf,
  type Shape,
  type Tensor,
} from "@mp/graph";
import * as ops from "@mp/graph/ops";
import { type Draws, hostData } from "../host-data.js";
import {
  type AxisSamples,
  alongEach,
  alongEachTwo,
  anyElements,
  flatten,
  permutations,
  resize,
  subsets,
} from "./axis-data.js";
import { gradient, spread } from "./gradient-sample.js";
import type { GeneratedRow, OpTable } from "./op-row.js";
import { countUp, type OpSample, type Sampled, sample } from "./op-sample.js";
import { setting } from "./setting.js";
import { counting, LONG, ROWS, TALL, WIDE, whole } from "./size-data.js";
import { moveSubnormals } from "./subnormals.js";
import { formAt, label, lengths, movable, sideTriples } from "./tail-data.js";

type Moved<K extends Op> = readonly [attributes: OpAttributes[K], ...shapes: Shape[]];

/** Samples with the same attributes and shapes in every dtype. */
function movementValues<K extends Op>(samples: readonly Moved<K>[]): Sampled<K> {
  return ({ dtype }) => ({
    values: samples.map(([attributes, ...shapes]) =>
      sample(attributes, ...shapes.map((shape, index) => movable(dtype, shape, 3 * index))),
    ),
  });
}

/** A padding value that the dtype holds exactly: true for bool, and for wide integers one that f32 cannot hold. */
function padValue(dtype: DType): number {
  if (dtype === "bool") return 1;
  if (isFloat(dtype)) return 1.5;
  return dtype === "u8" ? 3 : 2 ** 24 + 1;
}

type TailForm<K extends Op> = (
  length: number,
) => readonly [attributes: OpAttributes[K], ...operands: readonly Shape[]];

const movementTail = <K extends Op>(...forms: readonly TailForm<K>[]): GeneratedRow<K> =>
  movementTails(forms, () => []);

/** Samples of one form at each length, and of additional sizes. */
function movementTails<K extends Op>(
  forms: readonly TailForm<K>[],
  more: (dtype: DType) => readonly ReturnType<TailForm<K>>[],
): GeneratedRow<K> {
  return (draws) =>
    [...lengths(draws.dtype).map((length) => formAt(forms, length)(length)), ...more(draws.dtype)].map(
      ([attributes, ...operands]) =>
        sample<K>(attributes, ...operands.map((shape): HostTensor => label(draws, shape))),
    );
}

/** The attributes of a slice along the given axes. */
const slice = (
  ...parts: readonly (readonly [axis: number, start: number, end: number, step?: number])[]
): OpAttributes["Slice"] => ({
  axes: parts.map(([axis]) => axis),
  starts: parts.map(([, start]) => start),
  ends: parts.map(([, , end]) => end),
  steps: parts.map(([, , , step = 1]) => step),
});

const padBy = (pads: readonly number[], mode: OpAttributes["Pad"]["mode"]): OpAttributes["Pad"] => ({
  pads,
  mode,
  value: -1,
});

/** Makes moves along the axes of the given shapes, by behavior. */
type MovesAlong<K extends Op> = (
  draws: Draws,
  shapes: readonly Shape[],
) => Readonly<Record<string, readonly Moved<K>[]>>;

function axisSamples<K extends Op>(moves: MovesAlong<K>): AxisSamples<K> {
  return (draws, shapes) =>
    Object.fromEntries(
      Object.entries(moves(draws, shapes)).map(([behaviour, samples]) => [
        behaviour,
        samples.map(
          ([attributes, ...shapes]): OpSample<K> =>
            sample(attributes, ...shapes.map((shape) => anyElements(draws, shape))),
        ),
      ]),
    );
}

type Range = readonly [start: number, end: number, step: number];

/** Ranges of an axis of the given size: without the first or last elements, with steps, and backwards. */
const sliceRanges = (size: number): readonly Range[] => [
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

/** The `pads` attribute for padding of some axes. */
function padsAlong(
  rank: number,
  amounts: Readonly<Record<number, readonly [number, number]>>,
): readonly number[] {
  const of = (end: 0 | 1): readonly number[] =>
    Array.from({ length: rank }, (_, axis) => amounts[axis]?.[end] ?? 0);
  return [...of(0), ...of(1)];
}

const padAxes: AxisSamples<"Pad"> = axisSamples(({ dtype }, shapes) =>
  Object.fromEntries(
    (["constant", "reflect", "edge"] as const).map((mode) => {
      const value = dtype === "bool" ? 1 : 3;
      const one = (
        shape: Shape,
        amounts: Readonly<Record<number, readonly [number, number]>>,
      ): Moved<"Pad"> => [{ pads: padsAlong(shape.length, amounts), mode, value }, shape];
      // Reflection reaches no further than the axis.
      const most = (size: number): number => (mode === "reflect" ? size - 1 : size + 1);
      return [
        `${mode}-along-every-axis`,
        [
          ...alongEach(shapes, (shape, axis) => {
            const [size = 1] = shape.slice(axis, axis + 1);
            return ([[1, 0], [0, 1], [most(size), 1], [0, most(size)]] as const).map((amounts) =>
              one(shape, { [axis]: amounts }),
            ); // biome-ignore format: one pair an item
          }),
          ...alongEachTwo(shapes, (shape, first, second) => [
            one(shape, { [first]: [1, 0], [second]: [0, 1] }),
            one(shape, { [first]: [0, 1], [second]: [most(shape[second] ?? 1), 0] }),
          ]),
          ...shapes.map((shape) =>
            one(shape, Object.fromEntries(shape.map((size, axis) => [axis, [axis % 2, most(size)]]))),
          ),
        ],
      ];
    }),
  ),
);

const everyAxis = <K extends Op>(moves: (shapes: readonly Shape[]) => readonly Moved<K>[]): AxisSamples<K> =>
  axisSamples((_, shapes) => ({ "every-axis": moves(shapes) }));

/** The shape with axes of size 1 inserted at the given positions of the result. */
function widen(shape: Shape, axes: readonly number[]): Shape {
  const rest = [...shape];
  return Array.from({ length: shape.length + axes.length }, (_, axis) =>
    axes.includes(axis) ? 1 : (rest.shift() ?? 1),
  );
}

/** Shapes with each set of positions for new axes, up to five axes in all. */
const widenings = (shapes: readonly Shape[]) =>
  [[], ...shapes].flatMap((shape: Shape) =>
    subsets(5)
      .filter((axes) => (axes.at(-1) ?? 0) < shape.length + axes.length && shape.length + axes.length <= 5)
      .map((axes) => ({ shape, axes })),
  );

const PADDED: Shape = [3, 4, 3];

const INFINITE = Number.POSITIVE_INFINITY;

/** Padding values that the dtype holds. */
const padValues = (dtype: DType): readonly number[] => {
  if (dtype === "bool") return [0, 1];
  if (dtype === "f8e4m3") return [0, 1.5, -3];
  if (isFloat(dtype)) return [0, 1.5, -3, -0, INFINITE, -INFINITE, Number.NaN];
  return dtype === "u8" ? [0, 3, 100] : [0, 3, 2 ** 24 + 1, 2 ** 31 - 1];
};

export const movementTable: OpTable<OpOf<"movement">> = {
  Reshape: {
    samples: movementValues<"Reshape">([
      [{ shape: [6] }, [2, 3]],
      [{ shape: [3, 2] }, [2, 3]],
      [{ shape: [] }, [1, 1]],
      [{ shape: [1, 1, 1] }, []],
      [{ shape: [0, 7] }, [3, 0]],
      [{ shape: [2, 2, 3, 1] }, [4, 3]],
    ]),
    tails: movementTail<"Reshape">(
      (n) => [{ shape: [n, 3] }, [3, n]],
      (n) => [{ shape: [n] }, [1, n]],
    ),
    sizes: () => [
      sample({ shape: [18, 4_133] }, counting(TALL)),
      sample({ shape: [2, 33_001] }, counting(LONG)),
    ],
    axes: everyAxis((shapes) =>
      alongEachTwo(shapes, (shape, first, second) => {
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
    gradients: [gradient("matrix", [spread([3, 4])], (x) => ops.reshape(x, [4, 3]))],
    rare: [moveSubnormals({ shape: [7, 5] }, [5, 7])],
  },
  Transpose: {
    samples: movementValues<"Transpose">([
      [{ perm: [1, 0] }, [2, 3]],
      [{ perm: [0, 1] }, [2, 3]],
      [{ perm: [2, 0, 1] }, [2, 3, 4]],
      [{ perm: [0, 2, 1, 3] }, [2, 3, 4, 5]],
      [{ perm: [4, 3, 2, 1, 0] }, [2, 1, 3, 2, 2]],
      [{ perm: [0, 2, 3, 1, 4] }, [2, 3, 4, 2, 3]],
      [{ perm: [0, 3, 4, 1, 5, 2] }, [2, 3, 2, 4, 2, 3]],
      [{ perm: [] }, []],
      [{ perm: [1, 0] }, [0, 3]],
    ]),
    tails: movementTails<"Transpose">(
      [
        (n) => [{ perm: [1, 0] }, [3, n]],
        (n) => [{ perm: [1, 0] }, [n, 3]],
        (n) => [{ perm: [0, 2, 1] }, [2, n, 3]],
        (n) => [{ perm: [1, 0, 2] }, [2, 3, n]],
        (n) => [{ perm: [2, 0, 1] }, [n, 2, 3]],
      ],
      (dtype) => sideTriples(dtype).map(([a, b]) => [{ perm: [1, 0] }, [a, b]]),
    ),
    sizes: () => [
      sample({ perm: [1, 0] }, counting(TALL)),
      sample({ perm: [1, 0] }, counting(ROWS)),
      sample({ perm: [1, 0] }, counting([1_031, 67])),
      sample({ perm: [2, 0, 1] }, counting([41, 101, 17])),
      sample({ perm: [0, 2, 1] }, counting([4_133, 3, 6])),
      sample({ perm: [0, 2, 3, 1] }, counting([17, 19, 15, 16])),
    ],
    axes: everyAxis((shapes) =>
      shapes.flatMap((shape) =>
        permutations(shape.length).map((perm): Moved<"Transpose"> => [{ perm }, shape]),
      ),
    ),
    gradients: [
      gradient("matrix", [spread([3, 4])], (x) => ops.transpose(x)),
      gradient("permuted", [spread([2, 3, 4])], (x) => ops.transpose(x, [2, 0, 1])),
    ],
    rare: [moveSubnormals({ perm: [1, 0] }, [5, 7])],
  },
  Slice: {
    samples: movementValues<"Slice">([
      [slice([0, 1, 3]), [5]],
      [slice([0, 1, 3], [1, 0, 2]), [4, 3]],
      [slice([1, 0, 7, 2]), [2, 7]],
      [slice([0, 4, -1, -1]), [5]],
      [slice([1, 6, 0, -2]), [2, 7]],
      [slice([0, 2, 2]), [5]],
      [slice([2, 1, 3]), [2, 3, 4]],
      [slice(), [2, 2]],
      [slice([1, 0, 0]), [2, 0]],
      // Slices with a negative step that select no elements, or run over an empty axis.
      [slice([0, -1, -1, -1]), [0]],
      [slice([0, 1, -1, -1]), [2, 0]],
      [slice([1, -1, -1, -1], [0, 2, -1, -2]), [3, 0]],
    ]),
    tails: movementTail<"Slice">(
      (n) => [slice([0, 0, n]), [n + 3]],
      (n) => [slice([0, 1, n + 1]), [n + 1]],
      (n) => [slice([1, 1, n + 1]), [3, n + 2]],
      (n) => [slice([0, 0, 2 * n, 2]), [2 * n + 1]],
      (n) => [slice([0, n, -1, -1]), [n + 1]],
      (n) => [slice([0, 1, 3]), [4, n]],
    ),
    sizes: () => [
      sample(slice([0, 65_000, 66_001]), counting(LONG)),
      sample(slice([0, 66_001, -1, -1]), counting(LONG)),
      sample(slice([0, 1, 4_133], [1, 1, 18]), counting(TALL)),
      sample(slice([1, 1, 4_134, 3]), counting(WIDE)),
      sample(slice([0, 3, 66_002, 2]), counting(ROWS)),
    ],
    axes: axisSamples(({ random }, shapes) => ({
      "every-axis": alongEach(shapes, (shape, axis) =>
        sliceRanges(shape[axis] ?? 1).map((range): Moved<"Slice"> => [slice([axis, ...range]), shape]),
      ),
      "every-two-axes": alongEachTwo(
        shapes,
        (shape, first, second) =>
      // The axes are listed in either order.
      [[first, second], [second, first]].flatMap((axes) =>
        [0, 1, 2].map((): Moved<"Slice"> => {
          const parts = axes.map((axis) => {
            const ranges = sliceRanges(shape[axis] ?? 1);
            return [axis, ...(ranges[random.integer(0, ranges.length - 1)] as Range)] as const;
          });
          return [slice(...parts), shape];
        }),
      ), // biome-ignore format: one pair an item
      ),
    })),
    gradients: [
      gradient("part", [spread([3, 4])], (x) => ops.slice(x, [{ axis: 1, start: 1, end: 3 }])),
      gradient("every-second", [spread([5, 2])], (x) => ops.slice(x, [{ axis: 0, step: 2 }])),
      gradient("backwards", [spread([5, 2])], (x) => ops.slice(x, [{ axis: 0, step: -2 }])),
    ],
    rare: [moveSubnormals(slice([1, 1, 6]), [5, 7])],
  },
  Concat: {
    samples: movementValues<"Concat">([
      [{ axis: 0 }, [2, 3], [1, 3]],
      [{ axis: 1 }, [2, 3], [2, 1], [2, 2]],
      [{ axis: 0 }, [3]],
      [{ axis: 0 }, [3], [0], [2]],
      [{ axis: 2 }, [2, 2, 1], [2, 2, 3]],
    ]),
    tails: movementTail<"Concat">(
      (n) => [{ axis: 0 }, [n], [3]],
      (n) => [{ axis: 0 }, [2], [n], [1]],
      (n) => [{ axis: 1 }, [3, n], [3, 2]],
      (n) => [{ axis: 1 }, [2, 1], [2, n]],
      (n) => [{ axis: 0 }, [2, n], [1, n]],
    ),
    sizes: () => [
      sample({ axis: 0 }, counting(LONG), whole([4_133])),
      sample({ axis: 1 }, counting([4_133, 9]), whole([4_133, 8]), counting([4_133, 1])),
      sample({ axis: 0 }, counting([2_067, 17]), whole([2_067, 17])),
      sample({ axis: 1 }, counting([66_002, 1]), whole([66_002, 1])),
      // Many operands, as for the steps of an unrolled loop.
      sample({ axis: 0 }, ...Array.from({ length: 70 }, (_, at) => hostData("f32", [at, -at], [1, 2]))),
    ],
    axes: everyAxis(
      (shapes) =>
      alongEach(shapes, (shape, axis) =>
      [[shape[axis] ?? 1, shape[axis] ?? 1], [1, 2], [3, 1], [2, 1, 3]].map(
        (sizes): Moved<"Concat"> => [{ axis }, ...sizes.map((size) => resize(shape, axis, size))],
      ),
    ), // biome-ignore format: one list an item
    ),
    gradients: [
      gradient("two", [spread([2, 3]), spread([2, 1], 1)], (a, b) => ops.concat([a, b], 1)),
      gradient("one-value-twice", [spread([2, 3])], (x) => ops.concat([x, x], 0)),
    ],
    rare: [moveSubnormals({ axis: 0 }, [5, 3], [2, 3])],
  },
  Split: {
    samples: movementValues<"Split">([
      [{ axis: 0, split: [2, 1] }, [3, 2]],
      [{ axis: 1, split: [1, 3, 2] }, [2, 6]],
      [{ axis: 0, split: [4] }, [4]],
      [{ axis: 0, split: [0, 2] }, [2, 3]],
      [{ axis: 1, split: [2, 2] }, [2, 4, 3]],
    ]),
    tails: movementTail<"Split">(
      (n) => [{ axis: 0, split: [n, 3] }, [n + 3]],
      (n) => [{ axis: 0, split: [2, n, 1] }, [n + 3]],
      (n) => [{ axis: 1, split: [n, 2] }, [3, n + 2]],
      (n) => [{ axis: 1, split: [1, n] }, [2, n + 1]],
      (n) => [{ axis: 0, split: [2, 1] }, [3, n]],
    ),
    sizes: () => [
      sample({ axis: 0, split: [33_001, 33_001] }, counting(LONG)),
      sample({ axis: 1, split: [1, 9, 8] }, counting(TALL)),
      sample({ axis: 0, split: [4_100, 33] }, counting(TALL)),
      sample({ axis: 1, split: new Array<number>(67).fill(1) }, counting([2, 67])),
    ],
    axes: everyAxis((shapes) =>
      alongEach(shapes, (shape, axis) => {
        const size = shape[axis] ?? 1;
        const equal = new Array<number>(size).fill(1);
        return [[1, size - 1], [size - 1, 1], [1, size - 2, 1], equal, [...equal.slice(2), 2]].map(
        (split): Moved<"Split"> => [{ axis, split }, shape],
      ); // biome-ignore format: one list an item
      }),
    ),
    gradients: [
      gradient("all-parts", [spread([2, 4])], (x) => ops.concat([...ops.split(x, [1, 3], 1)].reverse(), 1)),
      gradient("one-part-unused", [spread([2, 4])], (x) => ops.split(x, 2, 1)[1] as Tensor),
    ],
    rare: [moveSubnormals({ axis: 1, split: [3, 4] }, [5, 7])],
  },
  Expand: {
    samples: movementValues<"Expand">([
      [{ shape: [2, 3] }, [3]],
      [{ shape: [4, 2, 3] }, [2, 1]],
      [{ shape: [2, 2] }, []],
      [{ shape: [2, 3] }, [2, 3]],
      [{ shape: [0, 3] }, [1, 3]],
      [{ shape: [3, 0] }, [0]],
    ]),
    tails: movementTail<"Expand">(
      (n) => [{ shape: [3, n] }, [n]],
      (n) => [{ shape: [n] }, []],
      (n) => [{ shape: [3, n] }, [3, 1]],
      (n) => [{ shape: [n, 3] }, [n, 1]],
      (n) => [{ shape: [2, 3, n] }, [2, 1, n]],
    ),
    sizes: () => [
      sample({ shape: TALL }, counting([18])),
      sample({ shape: TALL }, counting([4_133, 1])),
      sample({ shape: LONG }, counting([1])),
      sample({ shape: [1_031, 3, 23] }, counting([3, 1])),
    ],
    axes: everyAxis((shapes) =>
      shapes.flatMap((shape) =>
        subsets(shape.length).flatMap((axes): readonly Moved<"Expand">[] => {
          const narrow = flatten(shape, axes);
          const missing = axes.every((axis, at) => axis === at);
          return [[{ shape }, narrow], ...(missing ? [[{ shape }, narrow.slice(axes.length)] as const] : [])];
        }),
      ),
    ),
    gradients: [
      gradient("rows", [spread([4])], (x) => ops.expand(x, [3, 4])),
      gradient("a-scalar", [spread([])], (x) => ops.expand(x, [2, 3])),
    ],
    rare: [moveSubnormals({ shape: [3, 5, 7] }, [5, 7])],
  },
  Squeeze: {
    samples: movementValues<"Squeeze">([
      [{ axes: [0] }, [1, 3]],
      [{ axes: [0, 2] }, [1, 2, 1, 3]],
      [{ axes: [1] }, [2, 1]],
      [{ axes: [0, 1] }, [1, 1]],
      [{ axes: [] }, [2, 3]],
    ]),
    tails: movementTail<"Squeeze">((n) => [{ axes: [0] }, [1, n]]),
    sizes: () => [sample({ axes: [1] }, counting([4_133, 1, 18]))],
    axes: everyAxis((shapes) =>
      widenings(shapes).map(({ shape, axes }): Moved<"Squeeze"> => [{ axes }, widen(shape, axes)]),
    ),
    gradients: [gradient("matrix", [spread([1, 4])], (x) => ops.squeeze(x, [0]))],
    rare: [moveSubnormals({ axes: [1] }, [5, 1, 7])],
  },
  Unsqueeze: {
    samples: movementValues<"Unsqueeze">([
      [{ axes: [0] }, [3]],
      [{ axes: [0, 2] }, [2, 3]],
      [{ axes: [1] }, [2, 0]],
      [{ axes: [0, 1] }, []],
    ]),
    tails: movementTail<"Unsqueeze">((n) => [{ axes: [1] }, [n]]),
    sizes: () => [sample({ axes: [1] }, counting(TALL))],
    axes: everyAxis((shapes) =>
      widenings(shapes).map(({ shape, axes }): Moved<"Unsqueeze"> => [{ axes }, shape]),
    ),
    gradients: [gradient("vector", [spread([4])], (x) => ops.unsqueeze(x, [0, 2]))],
    rare: [moveSubnormals({ axes: [1] }, [5, 7])],
  },
  Pad: {
    samples: ({ dtype }) => {
      const value = padValue(dtype);
      const one = (
        shape: Shape,
        pads: readonly number[],
        mode: OpAttributes["Pad"]["mode"],
      ): OpSample<"Pad"> => sample({ pads, mode, value }, countUp(dtype, shape));
      return {
        values: [
          one([3], [1, 2], "constant"),
          one([2, 3], [0, 1, 2, 0], "constant"),
          one([2, 0], [1, 1, 0, 0], "constant"),
          one([], [], "constant"),
          one([2, 2], [0, 0, 0, 0], "constant"),
          one([4], [3, 2], "reflect"),
          one([3, 4], [1, 2, 2, 1], "reflect"),
          one([3], [2, 4], "edge"),
          one([2, 3], [1, 1, 1, 2], "edge"),
        ],
      };
    },
    tails: (draws) =>
      lengths(draws.dtype).map((length) => {
        const value = padValue(draws.dtype);
        const of = (shape: Shape, pads: readonly number[], mode: OpAttributes["Pad"]["mode"]) =>
          sample<"Pad">({ pads, mode, value }, label(draws, shape));
        return formAt(
          [
            of([length], [1, 2], "constant"),
            of([2, length], [0, 1, 1, 2], "constant"),
            of([length], [0, 3], "edge"),
            of([2, length], [1, 0, 0, 2], "edge"),
            of([length + 2], [length % 3, 2], "reflect"),
          ],
          length,
        );
      }),
    sizes: () => [
      sample(padBy([3, 2], "constant"), counting(LONG)),
      sample(padBy([0, 1, 1, 2], "constant"), counting(TALL)),
      sample(padBy([4_130, 2, 3, 1], "reflect"), counting(TALL)),
      sample(padBy([1, 4_100, 2, 1_001], "edge"), counting(WIDE)),
    ],
    axes: padAxes,
    options: (dtype) => [
      setting(
        "Pad",
        {
          pads: [
            [0, 1, 0, 0, 0, 2],
            [1, 0, 0, 0, 0, 0],
            [0, 0, 2, 0, 1, 0],
            [2, 3, 2, 1, 2, 1],
          ],
          mode: ["constant", "reflect", "edge"],
          value: padValues(dtype),
        },
        {},
        (attributes, _, draws) => sample(attributes, anyElements(draws, PADDED)),
      ),
    ],
    gradients: [
      gradient("constant", [spread([2, 3])], (x) =>
        ops.pad(x, [
          [1, 0],
          [0, 2],
        ]),
      ),
      gradient("reflect", [spread([4])], (x) => ops.pad(x, [[2, 1]], { mode: "reflect" })),
      gradient("edge", [spread([3])], (x) => ops.pad(x, [[2, 1]], { mode: "edge" })),
    ],
    rare: [moveSubnormals({ pads: [1, 1, 1, 1], mode: "edge", value: 0 }, [5, 7])],
  },
  Tile: {
    samples: movementValues<"Tile">([
      [{ repeats: [3] }, [2]],
      [{ repeats: [2, 1] }, [2, 3]],
      [{ repeats: [2, 3] }, [1, 2]],
      [{ repeats: [1, 1] }, [2, 2]],
      [{ repeats: [0, 2] }, [2, 2]],
      [{ repeats: [] }, []],
    ]),
    tails: movementTail<"Tile">(
      (n) => [{ repeats: [3] }, [n]],
      (n) => [{ repeats: [2, 1] }, [2, n]],
      (n) => [{ repeats: [1, 2] }, [3, n]],
      (n) => [{ repeats: [n] }, [2]],
    ),
    sizes: () => [
      sample({ repeats: [4_133, 1] }, counting([1, 18])),
      sample({ repeats: [2, 3] }, counting([4_133, 5])),
      sample({ repeats: [66_002] }, counting([2])),
    ],
    axes: everyAxis((shapes) => [
      ...alongEach(shapes, (shape, axis) =>
        [2, 3].map(
          (count): Moved<"Tile"> => [{ repeats: shape.map((_, at) => (at === axis ? count : 1)) }, shape],
        ),
      ),
      ...alongEachTwo(shapes, (shape, first, second): readonly Moved<"Tile">[] => [
        [{ repeats: shape.map((_, at) => (at === first ? 2 : at === second ? 3 : 1)) }, shape],
      ]),
      ...shapes.map((shape): Moved<"Tile"> => [{ repeats: shape.map((_, at) => 1 + ((at + 1) % 3)) }, shape]),
    ]),
    gradients: [gradient("matrix", [spread([2, 2])], (x) => ops.tile(x, [2, 3]))],
    rare: [moveSubnormals({ repeats: [2, 2] }, [5, 3])],
  },
};
