/**
 * The engine: dense arrays and the few loops over them that the backend is built from. It takes the place of your own
 * library or device, so it is short rather than fast, and knows nothing about training.
 */
import { broadcastShapes, elementCount, stridesOf } from "@mp/core/graph";

/** Elements in row-major order. Those of i64 are bigints, which `+`, `<=` and `===` accept like numbers. */
export interface Values {
  readonly shape: readonly number[];
  readonly data: ArrayLike<number>;
}

/** Reads an element for every position of another shape, by the given strides or broadcasting as in NumPy and ONNX. */
export function spread(values: Values, to: readonly number[], strides?: readonly number[]): number[] {
  const { shape, data } = values;
  let places = [0];
  for (const [axis, size] of to.entries()) {
    const own = axis + shape.length - to.length;
    const stride = strides?.[axis] ?? (shape[own] === 1 ? 0 : (stridesOf(shape)[own] ?? 0));
    places = places.flatMap((place) => Array.from({ length: size }, (_, index) => place + index * stride));
  }
  return places.map((place) => data[place] as number);
}

/** Sums over axes. */
export function sum({ shape, data }: Values, axes: readonly number[]): number[] {
  const kept = shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
  const sums = Array.from({ length: elementCount(kept, "sum") }, () => 0);
  const places = spread({ shape: kept, data: [...sums.keys()] }, shape);
  for (const [index, place] of places.entries())
    sums[place] = (sums[place] as number) + (data[index] as number);
  return sums;
}

/** Multiplies matrices, or vectors and stacks of matrices as NumPy does. */
export function product(a: Values, b: Values): number[] {
  const left = a.shape.length === 1 ? [1, ...a.shape] : a.shape;
  const right = b.shape.length === 1 ? [...b.shape, 1] : b.shape;
  const [m, k, n] = [...left.slice(-2), ...right.slice(-1)] as [number, number, number];
  const stack = broadcastShapes(left.slice(0, -2), right.slice(0, -2), "product");
  const rows = spread({ ...a, shape: left }, [...stack, m, k]);
  const columns = spread({ ...b, shape: right }, [...stack, k, n]);
  return Array.from({ length: elementCount([...stack, m, n], "product") }, (_, place) => {
    const row = Math.floor(place / n) * k;
    const column = Math.floor(place / (m * n)) * k * n + (place % n);
    let total = 0;
    for (let i = 0; i < k; i++) total += (rows[row + i] as number) * (columns[column + i * n] as number);
    return total;
  });
}

/** A matrix with rows and columns exchanged. */
export function transpose({ shape: [m = 0, n = 0], data }: Values): Values {
  return { shape: [n, m], data: spread({ shape: [m, n], data }, [n, m], [1, n]) };
}
