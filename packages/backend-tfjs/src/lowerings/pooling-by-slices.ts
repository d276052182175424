/** Pools that the engine has no kernel for: one strided slice per tap, over all windows at once. */
import type { DType, Shape } from "@mp/core";
import type { PoolingWindow } from "@mp/core/graph";
import { int, type TfWriter, type } from "../graph/tf-writer.js";
import { cut, emitT, padded, sameDimensions, strideAttributes } from "./lowering.js";

/** x [N, C, d…] and the shape of its pooled result; the windows must not need ceil mode. */
export interface Sliced {
  readonly x: string;
  readonly dtype: DType;
  readonly shape: Shape;
  readonly pooled: Shape;
  readonly window: PoolingWindow;
}

/** Padding before and after, for every axis. */
function pairsOf({ shape, window: { pads } }: Sliced): readonly (readonly [number, number])[] {
  const rank = shape.length - 2;
  return shape.map((_, axis) => (axis < 2 ? [0, 0] : [pads[axis - 2] ?? 0, pads[rank + axis - 2] ?? 0]));
}

interface Cut {
  readonly begin: readonly number[];
  readonly end: readonly number[];
  readonly strides: readonly number[];
}

/** The slice for each tap, in row-major order. */
function cutsOf({ shape, pooled, window }: Sliced): readonly Cut[] {
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
    return { begin, end, strides };
  });
}

function bounds({ begin, end, strides }: Cut, writer: TfWriter): readonly string[] {
  return [begin, end, strides].map((numbers) => writer.ints(numbers));
}

function slicesOf(sliced: Sliced, outside: number, writer: TfWriter): readonly string[] {
  const { x, dtype } = sliced;
  const whole = padded(x, dtype, pairsOf(sliced), outside, writer);
  const attributes = strideAttributes(dtype);
  return cutsOf(sliced).map((place) =>
    writer.one("StridedSlice", [whole, ...bounds(place, writer)], attributes),
  );
}

/** The taps of each window combined by an op; `outside` is the value of taps in the padding. */
export function pooledBySlices(
  sliced: Sliced,
  op: "Maximum" | "AddV2",
  outside: number,
  writer: TfWriter,
): string {
  return slicesOf(sliced, outside, writer).reduce((joined, tap) =>
    emitT(op, [joined, tap], sliced.dtype, writer),
  );
}

/** dy of each window at its first tap that equals y. */
export function firstLargest(sliced: Sliced, y: string, dy: string, writer: TfWriter): string {
  const { dtype, shape } = sliced;
  const pairs = pairsOf(sliced);
  const zero = writer.scalar(0, dtype);
  const not = (name: string): string => writer.one("LogicalNot", [name]);
  let taken: string | undefined;
  // NaN in the padding equals no y; -infinity there would, in a window of only -infinity.
  const found = slicesOf(sliced, Number.NaN, writer).map((tap) => {
    const equals = emitT("Equal", [tap, y], dtype, writer);
    const isFirst = taken === undefined ? equals : writer.one("LogicalAnd", [equals, not(taken)]);
    taken = taken === undefined ? equals : writer.one("LogicalOr", [taken, equals]);
    return emitT("SelectV2", [isFirst, dy, zero], dtype, writer);
  });
  const wide = shape.map((size, axis) => size + (pairs[axis] ?? []).reduce((sum, width) => sum + width, 0));
  const attributes = strideAttributes(dtype);
  const parts = cutsOf(sliced).map((place, index) =>
    writer.one(
      "StridedSliceGrad",
      [writer.ints(wide), ...bounds(place, writer), found[index] ?? dy],
      attributes,
    ),
  );
  const sum =
    parts.length === 1
      ? (parts[0] ?? dy)
      : writer.one("AddN", parts, { T: type(dtype), N: int(parts.length) });
  if (sameDimensions(wide, shape)) return sum;
  const begin = pairs.map(([before]) => before);
  return cut(sum, dtype, begin, shape, writer);
}
