/** The blocks of a tensor whose elements share a scale. */
import type { Shape, Tensor } from "@mp/graph";
import { pad, reduceMax, reshape, slice } from "@mp/graph/ops";
import { granularities, type ReadRule } from "./rule.js";

/** Division of a tensor into blocks. */
export interface Blocks {
  /** Pads with zeros and splits axes, so that each block is a range of whole axes. */
  split(x: Tensor): Tensor;
  /** The largest number of each block, with size 1 along the axes of a block; a scalar for one block. */
  reduce(magnitudes: Tensor): Tensor;
  /** Undoes `split`. */
  join(x: Tensor): Tensor;
  /** The shape of scales with one axis for each axis of the tensor; undefined if they have it. */
  readonly scaleShape: Shape | undefined;
}

/** Pads with zeros after the ends of axes. */
export const padTo = (x: Tensor, sizes: Shape): Tensor => {
  const missing = sizes.map((size, axis) => [0, size - (x.shape[axis] as number)] as const);
  return missing.every(([, after]) => after === 0) ? x : pad(x, missing);
};

export function blocksOf(
  shape: Shape,
  { granularity }: Pick<ReadRule, "granularity">,
  inner: number,
): Blocks {
  const [across, along] = granularities[granularity];
  const matrix = inner === shape.length - 1 ? shape.length - 2 : shape.length - 1;
  const padded: number[] = [];
  const parts: number[] = [];
  const axes: number[] = [];
  const lengths: number[] = [];
  for (const [axis, size] of shape.entries()) {
    const length = axis === inner ? along : axis === matrix || granularity === "tensor" ? across : 1;
    const isSplit = length > 1 && length < size;
    lengths.push(length);
    padded.push(isSplit ? Math.ceil(size / length) * length : size);
    if (isSplit) parts.push(Math.ceil(size / length));
    if (length > 1) axes.push(parts.length);
    parts.push(isSplit ? length : size);
  }
  const isWhole = axes.length === parts.length;
  const isPadded = padded.some((size, axis) => size !== shape[axis]);
  const isSplit = parts.length > shape.length;
  const counts = padded.map((size, axis) => Math.ceil(size / (lengths[axis] as number)));
  return {
    split: (x) => (isSplit ? reshape(padTo(x, padded), parts) : x),
    reduce: (magnitudes) =>
      isWhole
        ? reduceMax(magnitudes)
        : axes.length === 0
          ? magnitudes
          : reduceMax(magnitudes, { axes, keepdims: true }),
    scaleShape: isSplit ? counts : undefined,
    join: (x) => {
      const joined = isSplit ? reshape(x, padded) : x;
      const ends = shape.map((end, axis) => ({ axis, end }));
      return isPadded ? slice(joined, ends) : joined;
    },
  };
}
