import type { OpAttributes, OpOf } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { dtypeOf, type Operand, range, rankOf, repeated, shapeOf, sizeOf } from "../stablehlo/operand.js";
import { type Lowering, type LoweringTable, resultType } from "./lowering.js";

const reshape: Lowering<"Reshape" | "Squeeze" | "Unsqueeze"> = (emitter, node, [x]) => [
  emitter.reshape(x, resultType(node).shape),
];

/** Lowers a slice with a negative step as a slice with a positive step, which is then reversed. */
const slice: Lowering<"Slice"> = (emitter, node, [x]) => {
  const { starts, axes, steps } = node.attributes;
  const from = [...repeated(0, rankOf(x))];
  const to = [...shapeOf(x)];
  const strides = [...repeated(1, rankOf(x))];
  const reversed: number[] = [];
  axes.forEach((axis, index) => {
    const [start = 0, step = 1] = [starts[index], steps[index]];
    const size = resultType(node).shape[axis] ?? 0;
    const last = start + Math.max(0, size - 1) * step;
    from[axis] = size === 0 ? 0 : Math.min(start, last);
    to[axis] = size === 0 ? 0 : Math.max(start, last) + 1;
    strides[axis] = Math.abs(step);
    if (step < 0) reversed.push(axis);
  });
  return [emitter.reverse(emitter.slice(x, from, to, strides), reversed)];
};

const split: Lowering<"Split"> = (emitter, { attributes }, [x]) => {
  let end = 0;
  return attributes.split.map((size) => {
    end += size;
    return emitter.sliceAxis(x, attributes.axis, end - size, end);
  });
};

/** Broadcasts each axis to two axes, the repeats and the axis itself, and merges these. */
const tile: Lowering<"Tile"> = (emitter, node, [x]) => {
  const wide = shapeOf(x).flatMap((size, axis) => [node.attributes.repeats[axis] ?? 1, size]);
  const own = range(rankOf(x)).map((axis) => 2 * axis + 1);
  return [emitter.reshape(emitter.broadcast(x, wide, own), resultType(node).shape)];
};

type PadMode = OpAttributes["Pad"]["mode"];

/** Makes the `size` elements that pad x at one end of an axis, by mode. */
const padding: Readonly<
  Record<
    Exclude<PadMode, "constant">,
    (emitter: Emitter, x: Operand, axis: number, size: number, isBefore: boolean) => Operand
  >
> = {
  edge: (emitter, x, axis, size, isBefore) => {
    const at = isBefore ? 0 : sizeOf(x, axis) - 1;
    const line = emitter.sliceAxis(x, axis, at, at + 1);
    return emitter.expand(line, shapeOf(x).with(axis, size));
  },
  reflect: (emitter, x, axis, size, isBefore) => {
    const start = isBefore ? 1 : sizeOf(x, axis) - 1 - size;
    return emitter.reverse(emitter.sliceAxis(x, axis, start, start + size), [axis]);
  },
};

const pad: Lowering<"Pad"> = (emitter, { attributes }, [x]) => {
  const { pads, mode, value } = attributes;
  const [low, high] = [pads.slice(0, rankOf(x)), pads.slice(rankOf(x))];
  if (mode === "constant") return [emitter.pad(x, emitter.splat(dtypeOf(x), value), low, high)];
  const padded = range(rankOf(x)).reduce((inner, axis) => {
    const before = low[axis] ?? 0;
    const after = high[axis] ?? 0;
    const parts = [
      ...(before === 0 ? [] : [padding[mode](emitter, inner, axis, before, true)]),
      inner,
      ...(after === 0 ? [] : [padding[mode](emitter, inner, axis, after, false)]),
    ];
    return emitter.concat(parts, axis);
  }, x as Operand);
  return [padded];
};

export const movementLowerings: LoweringTable<OpOf<"movement">> = {
  Reshape: reshape,
  Squeeze: reshape,
  Unsqueeze: reshape,
  Transpose: (emitter, { attributes }, [x]) => [emitter.transpose(x, attributes.perm)],
  Slice: slice,
  Concat: (emitter, { attributes }, operands) => [emitter.concat(operands, attributes.axis)],
  Split: split,
  Expand: (emitter, node, [x]) => [emitter.expand(x, resultType(node).shape)],
  Pad: pad,
  Tile: tile,
};
