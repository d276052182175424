/** Indices in TensorFlow's form: never negative, with one row of coordinates for an index over several axes. */
import { type DType, type Shape, tensor } from "@mp/core";
import { int, type TfWriter, type } from "../graph/tf-writer.js";
import { emitT, sameDimensions, sizeOf } from "./lowering.js";

/**
 * Negative indices are converted to count from the start; those outside stay outside, so that a gather or scatter fails
 * on them.
 */
export function fromStart(indices: string, size: number | readonly number[], writer: TfWriter): string {
  const sizes =
    typeof size === "number" ? writer.scalar(size, "i32") : writer.constant(tensor(Int32Array.from(size)));
  const isNegative = emitT("Less", [indices, writer.scalar(0, "i32")], "i32", writer);
  return emitT(
    "SelectV2",
    [isNegative, emitT("AddV2", [indices, sizes], "i32", writer), indices],
    "i32",
    writer,
  );
}

/** Slices of `x` at indices along the axis; both may have `batchDims` leading axes. */
export function gather(
  x: string,
  indices: string,
  dtype: DType,
  writer: TfWriter,
  { axis, batchDims = 0 }: { readonly axis: number; readonly batchDims?: number },
): string {
  return writer.one("GatherV2", [x, indices, writer.scalar(axis, "i32")], {
    Tparams: type(dtype),
    Tindices: type("i32"),
    Taxis: type("i32"),
    batch_dims: int(batchDims),
  });
}

/** For each position in `shape` its coordinate along the axis, i32. */
export function coordinate(shape: Shape, axis: number, writer: TfWriter): string {
  const size = shape[axis] ?? 1;
  const counted = Int32Array.from({ length: size }, (_, place) => place);
  const own = shape.map((_, index) => (index === axis ? size : 1));
  const line = writer.constant(tensor(counted, own));
  if (sameDimensions(own, shape)) return line;
  return writer.one("BroadcastTo", [line, writer.ints(shape)], { T: type("i32"), Tidx: type("i32") });
}

/** Several tensors of one shape, stacked along a new last axis. */
export function packed(parts: readonly string[], rank: number, writer: TfWriter): string {
  return writer.one("Pack", parts, { T: type("i32"), N: int(parts.length), axis: int(rank) });
}

/**
 * The view of a tensor and its indices that GatherElements and ScatterElements need, with as few axes as possible.
 */
export interface ElementView {
  readonly data: Shape;
  readonly indices: Shape;
  /** The axis that the indices refer to. */
  readonly axis: number;
}

/** Axes other than the indexed one are merged where the indices cover them fully, and those of size 1 are left out. */
export function elementView(data: Shape, indices: Shape, axis: number): ElementView {
  const merged = (from: number, to: number): readonly (readonly [data: number, indices: number])[] => {
    const [own, their] = [data.slice(from, to), indices.slice(from, to)];
    const sizes = sameDimensions(own, their)
      ? [[sizeOf(own), sizeOf(own)] as const]
      : own.map((size, index) => [size, their[index] ?? 1] as const);
    return sizes.filter(([size, index]) => size !== 1 || index !== 1);
  };
  const before = merged(0, axis);
  const all = [...before, [data[axis] ?? 1, indices[axis] ?? 1] as const, ...merged(axis + 1, data.length)];
  return { data: all.map(([size]) => size), indices: all.map(([, size]) => size), axis: before.length };
}

/** For each index of a view, already counted from the start, the full coordinates of the element that it selects. */
export function elementCoordinates(view: ElementView, indices: string, writer: TfWriter): string {
  const parts = view.indices.map((_, index) =>
    index === view.axis ? indices : coordinate(view.indices, index, writer),
  );
  return packed(parts, view.indices.length, writer);
}
