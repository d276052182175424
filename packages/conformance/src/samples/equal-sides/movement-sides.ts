import type { DType, HostTensor, Shape } from "@mp/core";
import { isFloat, type Op, type OpAttributes, type OpOf, type ScatterReduction } from "@mp/core/graph";
import { generated } from "../../host-data.js";
import type { RandomSource } from "../../random-source.js";
import type { GeneratedRow, GeneratedRows } from "../generated-row.js";
import { exact, type OpSample, sample } from "../op-sample.js";
import { labelled, terms } from "../tails/tail-data.js";
import { AXES, CUBES, choices, cube, permutations } from "./side-data.js";

type Moved<K extends Op> = readonly [attributes: OpAttributes[K], ...operands: readonly Shape[]];

const row =
  <K extends Op>(samples: readonly Moved<K>[]): GeneratedRow<K> =>
  (dtype, random) =>
    samples.map(([attributes, ...operands]) =>
      sample<K>(attributes, ...operands.map((shape): HostTensor => labelled(random, dtype, shape))),
    );

const PERMUTED = [
  ...[2, 3, 4, 5].flatMap((side) => [2, 3].map((rank) => [side, rank] as const)),
  [2, 4] as const,
  [3, 4] as const,
  [2, 5] as const,
];

/** Each axis by itself, and each two of them in both orders. */
const ordered = (rank: number): readonly (readonly number[])[] => [
  ...cube(0, rank).map((_, axis) => [axis]),
  ...cube(0, rank).flatMap((_, a) => cube(0, rank).flatMap((_each, b) => (a === b ? [] : [[a, b]]))),
];

const replaced = (shape: Shape, axis: number, size: number): Shape =>
  shape.map((side, at) => (at === axis ? size : side));

const padValue = (dtype: DType): number => (dtype === "bool" ? 1 : isFloat(dtype) ? 1.5 : 3);
const MODES = ["constant", "edge", "reflect"] as const;

/** Each pad by itself, and a different one on each side of each axis. */
const padsOf = (rank: number): readonly (readonly number[])[] => [
  ...cube(0, 2 * rank).map((_, end) => cube(0, 2 * rank).map((zero, at) => (at === end ? 1 : zero))),
  cube(0, 2 * rank).map((_, at) => at % 3),
];

export const movementSides: GeneratedRows<OpOf<"movement">> = {
  Reshape: row([
    [{ shape: [9] }, [3, 3]],
    [{ shape: [3, 9] }, [3, 3, 3]],
    [{ shape: [9, 3] }, [3, 3, 3]],
    [{ shape: [4, 4] }, [2, 2, 2, 2]],
    [{ shape: [2, 2, 2, 2] }, [4, 4]],
    [{ shape: [4, 2, 2] }, [2, 2, 2, 2]],
  ]),
  Transpose: row(
    PERMUTED.flatMap(([side, rank]) =>
      permutations(rank).map((perm): Moved<"Transpose"> => [{ perm }, cube(side, rank)]),
    ),
  ),
  Slice: row(
    CUBES.flatMap((shape) =>
      ordered(shape.length).map((axes): Moved<"Slice"> => {
        const [side = 1] = shape;
        const starts = axes.map((_, at) => (at === 0 ? 1 : 0));
        return [
          { axes, starts, ends: axes.map((_, at) => (at === 0 ? side : side - 1)), steps: axes.map(() => 1) },
          shape,
        ];
      }),
    ),
  ),
  Concat: row(
    AXES.map(
      ([shape, axis], at): Moved<"Concat"> => [{ axis }, shape, shape, ...(at % 2 === 0 ? [shape] : [])],
    ),
  ),
  Split: row(
    AXES.map(([shape, axis]): Moved<"Split"> => {
      const [side = 1] = shape;
      return [{ axis, split: axis % 2 === 0 ? cube(1, side) : [1, side - 1] }, shape];
    }),
  ),
  Expand: row(
    CUBES.flatMap((shape) =>
      choices(shape.map((_, axis) => axis)).flatMap((axes): readonly Moved<"Expand">[] => {
        const from = shape.map((side, axis) => (axes.includes(axis) ? 1 : side));
        // Without its leading ones it has fewer axes.
        const first = from.findIndex((side) => side > 1);
        const short = first > 0 ? [[{ shape }, from.slice(first)] as const] : [];
        return [[{ shape }, from], ...short];
      }),
    ),
  ),
  Squeeze: row(
    [2, 3].flatMap((side) =>
      ordered(4).map((axes): Moved<"Squeeze"> => {
        const sorted = [...axes].sort();
        return [{ axes: sorted }, cube(side, 4).map((size, axis) => (sorted.includes(axis) ? 1 : size))];
      }),
    ),
  ),
  Unsqueeze: row([0, 1, 2].map((axis): Moved<"Unsqueeze"> => [{ axes: [axis] }, [3, 3]])),
  Pad: (dtype, random) =>
    CUBES.flatMap((shape) =>
      padsOf(shape.length).map((pads, at) => {
        const [side = 1] = shape;
        const mode = MODES[at % (side > 2 ? 3 : 2)] ?? "constant";
        return sample<"Pad">({ pads, mode, value: padValue(dtype) }, labelled(random, dtype, shape));
      }),
    ),
  Tile: row(
    AXES.map(
      ([shape, axis]): Moved<"Tile"> => [{ repeats: replaced(cube(1, shape.length), axis, 2) }, shape],
    ),
  ),
};

/** Each index once along the axis, in another order in each line. */
function shuffledAlong(random: RandomSource, shape: Shape, axis: number): HostTensor {
  const [side = 1] = shape;
  const inner = side ** (shape.length - 1 - axis);
  const orders = permutations(side);
  const picked = Array.from(
    { length: side ** (shape.length - 1) },
    () => orders[random.integer(0, orders.length - 1)],
  );
  return generated("i32", shape, (at) => {
    const line = Math.floor(at / (inner * side)) * inner + (at % inner);
    return picked[line]?.[Math.floor(at / inner) % side] ?? 0;
  });
}

const indices = (random: RandomSource, shape: Shape, side: number): HostTensor =>
  generated("i32", shape, () => random.integer(0, side - 1));

const REDUCTIONS: readonly ScatterReduction[] = ["none", "add", "max"];

export const indexingSides: GeneratedRows<OpOf<"indexing">> = {
  Gather: (dtype, random) =>
    AXES.map(([shape, axis], at) => {
      const [side = 1] = shape;
      return sample<"Gather">(
        { axis },
        labelled(random, dtype, shape),
        indices(random, at % 3 === 0 ? [side, side] : [side], side),
      );
    }),
  GatherElements: (dtype, random) =>
    AXES.map(([shape, axis]) =>
      sample<"GatherElements">({ axis }, labelled(random, dtype, shape), shuffledAlong(random, shape, axis)),
    ),
  GatherND: (dtype, random) =>
    [2, 3].flatMap((n) =>
      ([[0, [n, 2]], [0, [n, n, 1]], [1, [n, n - 1]], [1, [n, n, 2]], [1, [n, n, 1]], [2, [n, n, 1]]] as const).map(
        ([batchDims, shape]) =>
          sample<"GatherND">(
            { batchDims },
            labelled(random, dtype, cube(n, 4)),
            indices(random, [...shape], n),
          ),
      ),
    ), // biome-ignore format: one list of forms
  ScatterElements: (dtype, random) =>
    AXES.map(([shape, axis], at): OpSample<"ScatterElements"> => {
      const reduction = dtype === "bool" ? "none" : (REDUCTIONS[at % REDUCTIONS.length] ?? "none");
      const draw = reduction === "none" ? labelled : terms;
      return exact<"ScatterElements">(
        { axis, reduction },
        draw(random, dtype, shape),
        shuffledAlong(random, shape, axis),
        draw(random, dtype, shape),
      );
    }),
  ScatterND: (dtype, random) =>
    [2, 3].flatMap((n) =>
      ([[n, 1], [n, 2], [n, 3]] as const).map((shape, at) => {
        const [, depth] = shape;
        // The first of each index differs, so that no place is written twice.
        const order = permutations(n)[random.integer(0, n - 1)] ?? [];
        const places = generated("i32", [...shape], (place) =>
          place % depth === 0 ? (order[place / depth] ?? 0) : random.integer(0, n - 1),
        );
        const reduction = dtype === "bool" ? "none" : (REDUCTIONS[at % REDUCTIONS.length] ?? "none");
        const draw = reduction === "none" ? labelled : terms;
        return exact<"ScatterND">(
          { reduction },
          draw(random, dtype, cube(n, 3)),
          places,
          draw(random, dtype, [n, ...cube(n, 3 - depth)]),
        );
      }),
    ), // biome-ignore format: one list of forms
  OneHot: (_, random) =>
    [2, 3, 4].flatMap((n) =>
      [1, 2].flatMap((rank) =>
        Array.from({ length: rank + 1 }, (_each, axis) =>
          sample<"OneHot">({ axis, depth: n, dtype: "f32" }, indices(random, cube(n, rank), n)),
        ),
      ),
    ),
};
