/** Pools without a pooling kernel, by one strided slice per tap. The slice has that tap's element of every window. */
import { type PoolingWindow, type Shape, sameShape } from "@mp/graph";
import { int, type } from "../graph/attributes.js";
import { type SliceBounds, strideAttributes, type Term } from "../graph/term.js";
import { padPairs } from "./lowering.js";

/** A pooling of x, [N, C, d…]; the window must not have ceil mode. */
export interface Pool {
  readonly x: Term;
  readonly pooled: Shape;
  readonly window: PoolingWindow;
}

/** Padding before and after, for all axes of x. */
const widths = ({ window }: Pool): ReturnType<typeof padPairs> => [[0, 0], [0, 0], ...padPairs(window.pads)];

/** The bounds of the slice for each tap, in row-major order. */
function tapBounds({ x: { shape }, pooled, window }: Pool): readonly SliceBounds[] {
  const offsets = window.kernelShape.reduce<readonly (readonly number[])[]>(
    (outer, size) => outer.flatMap((taps) => Array.from({ length: size }, (_, tap) => [...taps, tap])),
    [[]],
  );
  const strides = [1, 1, ...window.strides];
  return offsets.map((taps) => {
    const begin = [0, 0, ...taps.map((tap, axis) => tap * (window.dilations[axis] ?? 1))];
    const end = begin.map((from, axis) =>
      axis < 2 ? (shape[axis] ?? 0) : from + ((pooled[axis] ?? 1) - 1) * (strides[axis] ?? 1) + 1,
    );
    return [begin, end, strides];
  });
}

/** The elements of all windows at each tap; the padding is filled with `outside`. */
function taps(pool: Pool, outside: number): readonly Term[] {
  const whole = pool.x.pad(widths(pool), outside);
  return tapBounds(pool).map((bounds) => whole.stridedSlice(bounds, pool.pooled));
}

/** Combines the taps of each window by an op; the padding is filled with `outside`. */
export function poolBySlices(pool: Pool, op: "Maximum" | "AddV2", outside: number): Term {
  return taps(pool, outside).reduce((joined, tap) => joined.op(op, tap));
}

/** The gradient of x: puts each window's dy at the first tap of the window that equals y. */
export function firstLargest(pool: Pool, y: Term, dy: Term): Term {
  const { writer, dtype, shape } = pool.x;
  const pairs = widths(pool);
  const zero = writer.scalar(0, dtype);
  const logical = (op: string, ...marks: Term[]): Term => writer.term(op, marks, {}, marks[0] as Term);
  let taken: Term | undefined;
  // NaN in the padding equals no y; -infinity there would, in a window of only -infinity.
  const found = taps(pool, Number.NaN).map((tap) => {
    const equals = tap.op("Equal", y);
    const isFirst =
      taken === undefined ? equals : logical("LogicalAnd", equals, logical("LogicalNot", taken));
    taken = taken === undefined ? equals : logical("LogicalOr", taken, equals);
    return isFirst.select(dy, zero);
  });
  const wide = shape.map((size, axis) => size + (pairs[axis] ?? []).reduce((sum, width) => sum + width, 0));
  const parts = tapBounds(pool).map((bounds, index) => {
    const inputs = [wide, ...bounds].map((list) => writer.ints(list));
    const type = { dtype, shape: wide };
    return writer.term("StridedSliceGrad", [...inputs, found[index] ?? dy], strideAttributes(dtype), type);
  });
  const [only = dy] = parts;
  const attributes = { T: type(dtype), N: int(parts.length) };
  const sum = parts.length === 1 ? only : writer.term("AddN", parts, attributes, { dtype, shape: wide });
  if (sameShape(wide, shape)) return sum;
  return sum.slice(
    pairs.map(([before]) => before),
    shape,
  );
}
