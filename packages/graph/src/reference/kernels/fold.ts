import { reduceShape } from "../../graph/infer/reduce.js";
import type { Shape } from "../../shape.js";
import { stridesOf } from "../../shape.js";
import type { BigStore, NumberStore } from "../elements/store.js";
import { forEachRun } from "../elements/strided.js";

/** Strides of the reduced result along the axes of the operand. */
function resultStrides(shape: Shape, axes: readonly number[]): number[] {
  const kept = stridesOf(reduceShape(shape, axes, true));
  return shape.map((_, axis) => (axes.includes(axis) ? 0 : (kept[axis] as number)));
}

/**
 * Computes sums[p] = step(sums[p], x) for each element x in row-major order, where p is its position in the reduced
 * result. Each intermediate is stored, and so rounded to the precision of `sums`.
 */
export function fold(
  x: NumberStore,
  shape: Shape,
  axes: readonly number[],
  sums: NumberStore,
  step: (sum: number, x: number) => number,
): void {
  foldAt(x, shape, axes, sums, (sum, value) => step(sum, value));
}

/** `fold` with a step that is also passed the position in the result. */
export function foldAt(
  x: NumberStore,
  shape: Shape,
  axes: readonly number[],
  sums: NumberStore,
  step: (sum: number, x: number, position: number) => number,
): void {
  forEachRun(shape, [resultStrides(shape, axes)], ([start = 0], [move = 0], length, at) => {
    for (let k = 0, position = start; k < length; k++, position += move) {
      sums[position] = step(sums[position] as number, x[at + k] as number, position);
    }
  });
}

/** `fold` with addition, specialized since most reductions are sums. */
export function foldSum(x: NumberStore, shape: Shape, axes: readonly number[], sums: NumberStore): void {
  forEachRun(shape, [resultStrides(shape, axes)], ([start = 0], [move = 0], length, at) => {
    const end = at + length;
    for (let k = at, position = start; k < end; k++, position += move) {
      sums[position] = (sums[position] as number) + (x[k] as number);
    }
  });
}

export function foldBig(
  x: BigStore,
  shape: Shape,
  axes: readonly number[],
  sums: BigStore,
  step: (sum: bigint, x: bigint) => bigint,
): void {
  forEachRun(shape, [resultStrides(shape, axes)], ([start = 0], [move = 0], length, at) => {
    for (let k = 0; k < length; k++) {
      const position = start + k * move;
      sums[position] = step(sums[position] as bigint, x[at + k] as bigint);
    }
  });
}
