import { type OpOf, sameShape, tensor } from "@mp/graph";
import { int, type } from "../graph/attributes.js";
import type { Term } from "../graph/term.js";
import { throughF16 } from "./in-f32.js";
import { count, type Lowering, type LoweringTable, padPairs, resultAt } from "./lowering.js";
import { markZero } from "./zeros.js";

/** Changes only the shape; no data moves. */
const reshape: Lowering<"Reshape" | "Squeeze" | "Unsqueeze"> = (node, [x]) => [
  x.reshape(resultAt(node).shape),
];

const transpose: Lowering<"Transpose"> = (node, [x]) => [x.moveAxes(node.attributes.perm)];

const slice: Lowering<"Slice"> = (node, [x]) => {
  const { starts, ends, axes, steps } = node.attributes;
  const { shape } = x;
  const size = resultAt(node).shape;
  if (sameShape(shape, size) && steps.every((step) => step > 0)) return [x];
  const along = (values: readonly number[], otherwise: (size: number) => number): number[] =>
    shape.map((size, axis) => values[axes.indexOf(axis)] ?? otherwise(size));
  const begin = along(starts, () => 0);
  if (steps.every((step) => step === 1) || count(size) === 0) {
    // Where the slice is empty the start may be past the end, which the engine refuses.
    const first = begin.map((start, axis) => Math.min(start, (shape[axis] ?? 0) - (size[axis] ?? 0)));
    return [x.slice(first, size)];
  }
  // Our -1 is before the first element; the engine would count it from the end.
  const open = axes
    .filter((_, index) => (ends[index] ?? 0) < 0)
    .reduce((mask, axis) => mask | (1 << axis), 0);
  const bounds = [begin, along(ends, (size) => size), along(steps, () => 1)] as const;
  return [x.stridedSlice(bounds, size, open)];
};

const concat: Lowering<"Concat"> = (node, operands, writer) => {
  const [x] = operands;
  if (operands.length === 1) return [x];
  const inputs = [...operands, writer.scalar(node.attributes.axis, "i32")];
  const attributes = { T: type(x.dtype), Tidx: type("i32"), N: int(operands.length) };
  return [writer.term("ConcatV2", inputs, attributes, { dtype: x.dtype, shape: resultAt(node).shape })];
};

const split: Lowering<"Split"> = (node, [x], writer) => {
  const { axis, split: sizes } = node.attributes;
  const { dtype } = x;
  if (sizes.length === 1) return [x];
  const inputs = [x, writer.ints(sizes), writer.scalar(axis, "i32")];
  const attributes = { T: type(dtype), Tlen: type("i32"), num_split: int(sizes.length) };
  const names = writer.emit("SplitV", inputs, attributes, { outputs: sizes.length });
  return names.map((name, index) => writer.at(name, { dtype, shape: resultAt(node, index).shape }));
};

const expand: Lowering<"Expand"> = (node, [x]) => {
  const { shape } = resultAt(node);
  if (count(x.shape) === count(shape)) return [x.reshape(shape)];
  const y = x.expand(shape);
  return [x.isZero ? markZero(y) : y];
};

/** Pads by gathering rows, axis by axis, because the engine can pad by reflection, but not by repeating an edge. */
function padByGather(
  x: Term,
  pads: ReturnType<typeof padPairs>,
  source: (place: number, size: number) => number,
): Term {
  return pads.reduce((padded, [before, after], axis) => {
    const size = padded.shape[axis] ?? 0;
    if (before === 0 && after === 0) return padded;
    const places = Int32Array.from({ length: before + size + after }, (_, place) =>
      source(place - before, size),
    );
    return padded.gather(x.writer.constant(tensor(places)), axis);
  }, x);
}

const sources = {
  edge: (place: number, size: number): number => Math.min(Math.max(place, 0), size - 1),
  reflect: (place: number, size: number): number =>
    place < 0 ? -place : place < size ? place : 2 * (size - 1) - place,
};

const pad: Lowering<"Pad"> = (node, [x]) => {
  const { mode, value } = node.attributes;
  const pads = padPairs(node.attributes.pads);
  return [mode === "constant" ? x.pad(pads, value) : padByGather(x, pads, sources[mode])];
};

const tile: Lowering<"Tile"> = (node, [x], writer) => {
  const { repeats } = node.attributes;
  if (repeats.every((repeat) => repeat === 1)) return [x];
  const attributes = { T: type(x.dtype), Tmultiples: type("i32") };
  const tiled = { dtype: x.dtype, shape: resultAt(node).shape };
  return [writer.term("Tile", [x, writer.ints(repeats)], attributes, tiled)];
};

export const movementLowerings: LoweringTable<OpOf<"movement">> = {
  Reshape: throughF16(reshape),
  Squeeze: throughF16(reshape),
  Unsqueeze: throughF16(reshape),
  Transpose: throughF16(transpose),
  Slice: throughF16(slice),
  Concat: throughF16(concat),
  Split: throughF16(split),
  Expand: throughF16(expand),
  Pad: throughF16(pad),
  Tile: throughF16(tile),
};
