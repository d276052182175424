/** Shapes, axes and data for samples along each axis alone and along each pair of axes. */
import { type HostTensor, isFloat, type Op, type OpAttributes, type OpOf, type Shape } from "@mp/graph";
import { type Draws, randomData } from "../host-data.js";
import type { Behaviours } from "./op-sample.js";

/** Shapes of every rank from 1 to 5. No two adjacent axes have the same size. */
export const RANKED: readonly Shape[] = [[5], [4, 3], [3, 2, 4], [2, 3, 4, 5], [2, 3, 2, 4, 3]];

/** Shapes with equal sides, so that no shape tells one axis from another. */
export const CUBES: readonly Shape[] = [[3, 3], [4, 4], [4, 4, 4], [3, 3, 3, 3]]; // biome-ignore format: one line

/** Makes samples along the axes of the given shapes, by behavior. */
export type AxisSamples<K extends Op> = (draws: Draws, shapes: readonly Shape[]) => Behaviours<K>;

/** Makes samples for each axis of each of the shapes. */
export const alongEach = <T>(
  shapes: readonly Shape[],
  make: (shape: Shape, axis: number) => readonly T[],
): readonly T[] => shapes.flatMap((shape) => shape.flatMap((_, axis) => make(shape, axis)));

/** Makes samples for each pair of axes of each of the shapes. */
export const alongEachTwo = <T>(
  shapes: readonly Shape[],
  make: (shape: Shape, first: number, second: number) => readonly T[],
): readonly T[] =>
  alongEach(shapes, (shape, first) =>
    shape.flatMap((_, second) => (second > first ? make(shape, first, second) : [])),
  );

/** All non-empty subsets, each in the order of the list. */
export function choices<T>(from: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: 2 ** from.length - 1 }, (_, bits) =>
    from.filter((_each, at) => ((bits + 1) >> at) % 2 === 1),
  );
}

/** Every non-empty subset of 0 … count - 1, in ascending order. */
export const subsets = (count: number): readonly (readonly number[])[] =>
  choices(Array.from({ length: count }, (_, member) => member));

/** All orders of 0 … rank - 1. */
export function permutations(rank: number): readonly (readonly number[])[] {
  if (rank === 0) return [[]];
  return permutations(rank - 1).flatMap((rest) =>
    Array.from({ length: rank }, (_, at) => [...rest.slice(0, at), rank - 1, ...rest.slice(at)]),
  );
}

export const cube = (side: number, rank: number): Shape => new Array<number>(rank).fill(side);

/** The shape with another size along one axis. */
export const resize = (shape: Shape, axis: number, size: number): Shape =>
  shape.map((old, at) => (at === axis ? size : old));

/** The shape with size 1 along the given axes. */
export const flatten = (shape: Shape, axes: readonly number[]): Shape =>
  shape.map((size, axis) => (axes.includes(axis) ? 1 : size));

/** Random elements in a range in which every dtype has many values. */
export function anyElements(draws: Draws, shape: Shape): HostTensor {
  if (draws.dtype === "bool") return randomData(draws, shape, 0, 1);
  if (draws.dtype === "u8" || draws.dtype === "u64") return randomData(draws, shape, 0, 200);
  return randomData(draws, shape, -100, 100);
}

/** Whole numbers from 1 to 5. */
export const naturals = (draws: Draws, shape: Shape): HostTensor =>
  isFloat(draws.dtype)
    ? randomData(
        { random: { ...draws.random, between: () => draws.random.integer(1, 5) }, dtype: draws.dtype },
        shape,
      )
    : randomData(draws, shape, 1, 5);

/** Pairs of shapes that broadcast to the given shape. */
export function broadcastPairs(whole: Shape): readonly (readonly [Shape, Shape])[] {
  const axes = whole.map((_, axis) => axis);
  const alone = axes.map((axis): Shape => flatten(whole, [axis]));
  const missing = axes.map((axis): Shape => whole.slice(axis + 1));
  return [
    ...[...alone, ...missing].flatMap((part) => [[part, whole] as const, [whole, part] as const]),
    ...alone.flatMap((left, at) =>
      alone.flatMap((right, other) => (at === other ? [] : [[left, right] as const])),
    ),
    // One operand broadcasts along the even axes, the other along the odd ones.
    [
      flatten(
        whole,
        axes.filter((axis) => axis % 2 === 0),
      ),
      flatten(
        whole,
        axes.filter((axis) => axis % 2 === 1),
      ),
    ],
  ];
}

type AxisName = "axis" | "axes" | "perm" | "batchDims";

/** Operators with an attribute that names axes, and operators of families whose operands broadcast. */
export type AxisOp =
  | { readonly [K in Op]: AxisName & keyof OpAttributes[K] extends never ? never : K }[Op]
  | OpOf<"binary" | "batch-normalization" | "movement" | "indexing">
  | "MatMul";
