import type { OpOf } from "../../graph/families.js";
import { elementCount, sameShape } from "../../shape.js";
import { add } from "../../trace/ops/binary.js";
import { concat, pad, reshape, slice, split, transpose } from "../../trace/ops/movement.js";
import { reduceSum } from "../../trace/ops/reduce.js";
import type { Tensor } from "../../trace/tensor.js";
import { type GradientRule, type GradientTable, toShape, unbroadcast, zeroGradient } from "./rule.js";

type ShapeOp = "Reshape" | "Squeeze" | "Unsqueeze";

const backToShape: GradientRule<ShapeOp> = ({ gradient, inputType }) => [
  toShape(gradient(0), inputType(0).shape),
];

/** Inserts step - 1 zeros behind each element of the axis. */
function dilate(x: Tensor, axis: number, step: number): Tensor {
  const size = x.shape[axis] ?? 0;
  const column = reshape(x, [...x.shape.slice(0, axis + 1), 1, ...x.shape.slice(axis + 1)]);
  const padded = pad(
    column,
    column.shape.map((_, index): [number, number] => [0, index === axis + 1 ? step - 1 : 0]),
  );
  return reshape(padded, [...x.shape.slice(0, axis), size * step, ...x.shape.slice(axis + 1)]);
}

/** Puts zeros around the gradient, which is reversed for a negative step and dilated for steps of more than 1. */
const sliceGradient: GradientRule<"Slice"> = ({ attributes, gradient, inputType }) => {
  const x = inputType(0);
  let g = gradient(0);
  if (elementCount(g.shape, "Slice") === 0) return [zeroGradient(x)];
  const pads = x.shape.map((): readonly [number, number] => [0, 0]);
  attributes.axes.forEach((axis, index) => {
    const step = attributes.steps[index] ?? 1;
    const first = attributes.starts[index] ?? 0;
    const taken = g.shape[axis] ?? 0;
    const size = x.shape[axis] ?? 0;
    if (step < 0) g = slice(g, [{ axis, step: -1 }]);
    const before = step < 0 ? first + (taken - 1) * step : first;
    const stride = Math.abs(step);
    if (stride > 1) {
      g = dilate(g, axis, stride);
      if (before + taken * stride > size) g = slice(g, [{ axis, start: 0, end: size - before }]);
    }
    pads[axis] = [before, size - before - (g.shape[axis] ?? 0)];
  });
  return [pads.every(([before, after]) => before === 0 && after === 0) ? g : pad(g, pads)];
};

/** Emits one Slice if a single operand needs a gradient, otherwise one Split. */
const concatGradient: GradientRule<"Concat"> = ({ attributes: { axis }, gradient, inputTypes, needs }) => {
  const sizes = inputTypes.map((type) => type.shape[axis] ?? 0);
  const wanted = sizes.flatMap((_, index) => (needs(index) ? [index] : []));
  const [only] = wanted;
  if (wanted.length !== 1 || only === undefined) return split(gradient(0), sizes, axis);
  const start = sizes.slice(0, only).reduce((sum, size) => sum + size, 0);
  const part = slice(gradient(0), [{ axis, start, end: start + (sizes[only] ?? 0) }]);
  return sizes.map((_, index) => (index === only ? part : undefined));
};

type PadMode = "constant" | "reflect" | "edge";

/** Undoes the padding of one axis: slices out the original elements and adds the gradients of their copies. */
function unpadAxis(g: Tensor, axis: number, before: number, after: number, mode: PadMode): Tensor {
  const size = (g.shape[axis] ?? 0) - before - after;
  const cut = (start: number, end: number): Tensor => slice(g, [{ axis, start, end }]);
  const center = cut(before, before + size);
  if (mode === "constant") return center;
  const sum = (x: Tensor): Tensor => reduceSum(x, { axes: [axis], keepdims: true });
  if (mode === "edge") {
    if (size === 1) return sum(g);
    const [low, high] = [cut(0, before + 1), cut(before + size - 1, before + size + after)];
    const inner = size > 2 ? [cut(before + 1, before + size - 1)] : [];
    return concat([sum(low), ...inner, sum(high)], axis);
  }
  const padPart = (part: Tensor, start: number): Tensor =>
    pad(
      slice(part, [{ axis, step: -1 }]),
      g.shape.map((_, index): [number, number] =>
        index === axis ? [start, size - start - (part.shape[axis] ?? 0)] : [0, 0],
      ),
    );
  let total = center;
  if (before > 0) total = add(total, padPart(cut(0, before), 1));
  if (after > 0) total = add(total, padPart(cut(before + size, before + size + after), size - 1 - after));
  return total;
}

const padGradient: GradientRule<"Pad"> = ({ attributes: { pads, mode }, gradient, inputType }) => {
  const rank = inputType(0).shape.length;
  let g = gradient(0);
  for (let axis = 0; axis < rank; axis++) {
    const [before, after] = [pads[axis] ?? 0, pads[rank + axis] ?? 0];
    if (before > 0 || after > 0) g = unpadAxis(g, axis, before, after, mode);
  }
  return [g];
};

/** Reshapes [r·d, …] to [r, d, …] and sums over the repeats. */
const tileGradient: GradientRule<"Tile"> = ({ attributes: { repeats }, gradient, inputType }) => {
  const x = inputType(0);
  if (sameShape(gradient(0).shape, x.shape)) return [gradient(0)];
  const apart = x.shape.flatMap((size, axis) => [repeats[axis] ?? 1, size]);
  return [reduceSum(reshape(gradient(0), apart), { axes: repeats.map((_, axis) => 2 * axis) })];
};

export const movementGradients: GradientTable<OpOf<"movement">> = {
  Reshape: backToShape,
  Squeeze: backToShape,
  Unsqueeze: backToShape,
  Transpose: ({ attributes: { perm }, gradient }) => [
    transpose(
      gradient(0),
      perm.map((_, axis) => perm.indexOf(axis)),
    ),
  ],
  Slice: sliceGradient,
  Concat: concatGradient,
  Split: ({ attributes: { axis }, gradient, outputTypes }) => [
    concat(
      outputTypes.map((_, index) => gradient(index)),
      axis,
    ),
  ],
  Expand: ({ gradient, inputType }) => [unbroadcast(gradient(0), inputType(0).shape)],
  Pad: padGradient,
  Tile: tileGradient,
};
