/** Shapes whose sides are all equal, so that no shape distinguishes one axis from another. */
import type { HostTensor, Op, OpAttributes, Shape } from "@mp/graph";
import type { Draws } from "../host-data.js";
import type { GeneratedRow } from "./op-row.js";
import { sample } from "./op-sample.js";

/** Shapes with equal sides. No two elements of a sample's tensor are equal, except in bools. */
export const CUBES: readonly Shape[] = [
  [3, 3],
  [4, 4],
  [3, 3, 3],
  [4, 4, 4],
  [2, 2, 2, 2],
  [3, 3, 3, 3],
];

/** Each axis of each of the cubes. */
export const AXES: readonly (readonly [shape: Shape, axis: number])[] = CUBES.flatMap((shape) =>
  shape.map((_, axis) => [shape, axis] as const),
);

export const cube = (side: number, rank: number): Shape => new Array<number>(rank).fill(side);

/** All orders of 0 … rank - 1. */
export function permutations(rank: number): readonly (readonly number[])[] {
  if (rank === 0) return [[]];
  return permutations(rank - 1).flatMap((rest) =>
    Array.from({ length: rank }, (_, at) => [...rest.slice(0, at), rank - 1, ...rest.slice(at)]),
  );
}

/** All non-empty choices of elements, in their order. */
export function choices<T>(from: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: 2 ** from.length - 1 }, (_, bits) =>
    from.filter((_each, at) => ((bits + 1) >> at) % 2 === 1),
  );
}

/** Makes samples along each axis of each of the cubes. */
export const alongSides =
  <K extends Op>(
    attributesOf: (axis: number, at: number) => OpAttributes[K],
    draw: (draws: Draws, shape: Shape) => HostTensor,
  ): GeneratedRow<K> =>
  (draws) =>
    AXES.map(([shape, axis], at) => sample<K>(attributesOf(axis, at), draw(draws, shape)));
