import { invalid, shapeMismatch } from "./errors.js";
import { shown } from "./shown.js";

/** Static dimensions, outermost first; `[]` is a scalar. A dimension may be 0. */
export type Shape = readonly number[];

/** A shape as messages show it: `[2, 3]`. */
export function formatShape(shape: Shape): string {
  return `[${shape.join(", ")}]`;
}

/** The largest number of elements in one tensor; engines count and index elements with 32 bits. */
const MAX_ELEMENTS = 2 ** 31 - 1;

/**
 * Product of the dimensions; `what` is the subject of the message.
 * @throws MP_SHAPE_MISMATCH for a dimension that is not a non-negative integer, or a product beyond 2^31 - 1
 */
export function elementCount(shape: Shape, what: string): number {
  let count = 1;
  for (const dimension of shape) {
    if (!Number.isSafeInteger(dimension) || dimension < 0) {
      throw shapeMismatch(`${what}: dimensions must be integers ≥ 0, got ${formatShape(shape)}`);
    }
    count *= dimension;
  }
  if (count > MAX_ELEMENTS) {
    throw shapeMismatch(
      `${what}: a tensor of ${formatShape(shape)} is too large, it has at most ${MAX_ELEMENTS} elements; make it smaller or split it`,
      { details: { shape, limit: MAX_ELEMENTS } },
    );
  }
  return count;
}

/** Whether two shapes have the same dimensions in the same order. */
export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dimension, axis) => dimension === b[axis]);
}

/**
 * The shape of the result of ONNX's (NumPy's) multidirectional broadcasting.
 * @throws MP_SHAPE_MISMATCH naming both shapes
 */
export function broadcastShapes(a: Shape, b: Shape, what: string): Shape {
  const rank = Math.max(a.length, b.length);
  const out: number[] = [];
  for (let axis = 0; axis < rank; axis++) {
    const x = a[axis - rank + a.length] ?? 1;
    const y = b[axis - rank + b.length] ?? 1;
    if (x !== y && x !== 1 && y !== 1) {
      throw shapeMismatch(`${what}: shapes do not broadcast, ${formatShape(a)} with ${formatShape(b)}`);
    }
    out.push(x === 1 ? y : x);
  }
  return out;
}

/**
 * Turns an axis of -rank … rank-1 into 0 … rank-1.
 * @throws MP_INVALID_ARGUMENT outside that range
 */
export function normalizeAxis(axis: number, rank: number, what: string): number {
  if (!Number.isInteger(axis)) throw invalid(`${what}: the axis must be an integer, got ${shown(axis)}`);
  if (axis < -rank || axis >= rank) {
    throw invalid(
      `${what}: axis ${shown(axis)} is outside a tensor of rank ${rank}, use ${-rank} … ${rank - 1}`,
    );
  }
  return axis < 0 ? axis + rank : axis;
}

/** Row-major strides in elements. */
export function stridesOf(shape: Shape): number[] {
  const strides = new Array<number>(shape.length).fill(1);
  for (let axis = shape.length - 2; axis >= 0; axis--) {
    strides[axis] = (strides[axis + 1] ?? 1) * (shape[axis + 1] ?? 1);
  }
  return strides;
}
