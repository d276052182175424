import { type Shape, stridesOf } from "../../shape.js";

/** Element count of a shape that is known to be valid. */
export function countElements(shape: Shape): number {
  let size = 1;
  for (const dimension of shape) size *= dimension;
  return size;
}

/** Strides that read a tensor of `shape` as if it were broadcast to `to`: 0 along axes where it repeats. */
export function broadcastStrides(shape: Shape, to: Shape): number[] {
  const own = stridesOf(shape);
  const missing = to.length - shape.length;
  return to.map((_, axis) =>
    axis < missing || shape[axis - missing] === 1 ? 0 : (own[axis - missing] as number),
  );
}

/**
 * Called for each run along the innermost axis, with each operand's start and step, the run's length, and the run's
 * position in row-major order. The arrays are reused between calls.
 */
export type Run = (starts: readonly number[], steps: readonly number[], length: number, at: number) => void;

/**
 * Walks a shape in row-major order along several strided operands at once. Axes that all operands traverse
 * contiguously are merged first, so dense tensors and scalars take one run.
 */
export function forEachRun(shape: Shape, operands: readonly (readonly number[])[], run: Run): void {
  const merged = mergeAxes(shape, operands);
  const last = merged.shape.length - 1;
  const length = merged.shape[last] as number;
  const total = countElements(merged.shape);
  if (total === 0) return;
  const steps = merged.strides.map((strides) => strides[last] as number);
  const starts = operands.map(() => 0);
  const index = new Array<number>(last).fill(0);
  for (let at = 0; at < total; at += length) {
    run(starts, steps, length, at);
    for (let axis = last - 1; axis >= 0; axis--) {
      const size = merged.shape[axis] as number;
      const next = (index[axis] as number) + 1;
      const wraps = next === size;
      index[axis] = wraps ? 0 : next;
      for (let k = 0; k < starts.length; k++) {
        const stride = merged.strides[k]?.[axis] as number;
        starts[k] = (starts[k] as number) + (wraps ? stride * (1 - size) : stride);
      }
      if (!wraps) break;
    }
  }
}

interface Merged {
  /** Has at least one axis. */
  readonly shape: readonly number[];
  readonly strides: readonly (readonly number[])[];
}

function mergeAxes(shape: Shape, operands: readonly (readonly number[])[]): Merged {
  const sizes: number[] = [];
  const strides: number[][] = operands.map(() => []);
  shape.forEach((size, axis) => {
    if (size === 1) return;
    const top = sizes.length - 1;
    const even =
      top >= 0 && operands.every((own, k) => (strides[k] as number[])[top] === (own[axis] as number) * size);
    if (even) sizes[top] = (sizes[top] as number) * size;
    else sizes.push(size);
    operands.forEach((own, k) => {
      (strides[k] as number[])[even ? top : top + 1] = own[axis] as number;
    });
  });
  if (sizes.length === 0) {
    sizes.push(1);
    for (const own of strides) own.push(1);
  }
  return { shape: sizes, strides };
}

/** A shape viewed along one axis: `outer` blocks of `size` rows of `inner` elements. */
export interface AxisView {
  readonly outer: number;
  readonly size: number;
  readonly inner: number;
}

export function viewOfAxis(shape: Shape, axis: number): AxisView {
  return {
    outer: countElements(shape.slice(0, axis)),
    size: shape[axis] ?? 1,
    inner: countElements(shape.slice(axis + 1)),
  };
}
