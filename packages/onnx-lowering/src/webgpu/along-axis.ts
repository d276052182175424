/** Moves elements along one axis. The shapes are given, because a writer has only names. */
import type { DType, Shape } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { product, reshape } from "../lowerings/operators.js";

/** The name and shape of a value. */
export interface Shaped {
  readonly name: string;
  readonly shape: Shape;
}

const withSize = (shape: Shape, axis: number, size: number): Shape =>
  shape.map((own, index) => (index === axis ? size : own));

/** Pads an axis with `value` by `before` and `after` elements; a negative count crops. */
export function frame(
  { name, shape }: Shaped,
  axis: number,
  [before, after]: readonly [number, number],
  [value, dtype]: readonly [number, DType],
  writer: NodeWriter,
): Shaped {
  const { name: inner, shape: kept } = crop(
    { name, shape },
    axis,
    [Math.max(0, -before), Math.max(0, -after)],
    writer,
  );
  const margins = [before, after].map((count) =>
    shape.map((_, index) => (index === axis ? Math.max(0, count) : 0)),
  );
  const added = Math.max(0, before) + Math.max(0, after);
  if (added === 0) return { name: inner, shape: kept };
  const padded = writer.one("Pad", [inner, writer.ints(margins.flat()), writer.scalar(value, dtype)]);
  return { name: padded, shape: withSize(kept, axis, (kept[axis] ?? 0) + added) };
}

function crop(
  { name, shape }: Shaped,
  axis: number,
  [before, after]: readonly [number, number],
  writer: NodeWriter,
): Shaped {
  if (before === 0 && after === 0) return { name, shape };
  const count = (shape[axis] ?? 0) - before - after;
  return takeEvery({ name, shape }, axis, { start: before, step: 1, count }, writer);
}

/** Takes `count` elements of an axis, from `start` on, `step` apart. */
export function takeEvery(
  { name, shape }: Shaped,
  axis: number,
  { start, step, count }: { readonly start: number; readonly step: number; readonly count: number },
  writer: NodeWriter,
): Shaped {
  const size = shape[axis] ?? 0;
  if (start === 0 && step === 1 && count === size) return { name, shape };
  const bounds = [start, start + (count - 1) * step + 1, axis, step].map((number) => writer.ints([number]));
  return { name: writer.one("Slice", [name, ...bounds]), shape: withSize(shape, axis, count) };
}

/**
 * Spreads each value along an axis of `size`, with zeros between its elements, and sums the results. All
 * values have the same shape; element i goes to position `step` · i + `offset`. Values whose offsets differ
 * by a multiple of `step` are shifted and added; others interleave.
 */
export function spread(
  placed: readonly { readonly name: string; readonly offset: number }[],
  shape: Shape,
  axis: number,
  { step, size, dtype }: { readonly step: number; readonly size: number; readonly dtype: DType },
  writer: NodeWriter,
): Shaped {
  const count = Math.ceil(size / step);
  const own = shape[axis] ?? 0;
  const lanes = Array.from({ length: step }, (_, lane): string => {
    const shifted = placed
      .filter(({ offset }) => offset % step === lane)
      .map(({ name, offset }) => {
        const before = Math.floor(offset / step);
        return frame({ name, shape }, axis, [before, count - before - own], [0, dtype], writer).name;
      });
    const [first, ...others] = shifted;
    if (first !== undefined) return others.reduce((sum, name) => writer.one("Add", [sum, name]), first);
    return writer.one("Expand", [writer.scalar(0, dtype), writer.ints(withSize(shape, axis, count))]);
  });
  if (step === 1) return { name: lanes[0] ?? "", shape: withSize(shape, axis, size) };
  const [outer, inner] = [product(shape.slice(0, axis)), product(shape.slice(axis + 1))];
  const columns = lanes.map((name) => reshape(name, [outer, count, 1, inner], writer));
  const joined = writer.one("Concat", columns, { axis: int(2) });
  const whole = {
    name: reshape(joined, withSize(shape, axis, count * step), writer),
    shape: withSize(shape, axis, count * step),
  };
  return crop(whole, axis, [0, count * step - size], writer);
}
