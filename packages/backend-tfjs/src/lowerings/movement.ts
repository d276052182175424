import { type DType, type Shape, tensor } from "@mp/core";
import type { OpOf } from "@mp/core/graph";
import { int, type Lowering, type LoweringTable, type TfWriter, type } from "../graph/tf-writer.js";
import { gather } from "./indices.js";
import {
  axesMoved,
  operandAt,
  padded,
  reshape,
  resultAt,
  sameDimensions,
  sizeOf,
  strideAttributes,
  typeAt,
} from "./lowering.js";
import { throughF16 } from "./twins.js";
import { isZero, noteZero } from "./zeros.js";

/** The data stays in place; only the shape changes. */
const reshaped: Lowering<"Reshape" | "Squeeze" | "Unsqueeze"> = (node, operands, writer) => {
  const { dtype, shape } = resultAt(node);
  return [reshape(operandAt(operands, 0), dtype, typeAt(node, 0).shape, shape, writer)];
};

const transpose: Lowering<"Transpose"> = (node, operands, writer) => [
  axesMoved(operandAt(operands, 0), typeAt(node, 0), node.attributes.perm, writer),
];

const slice: Lowering<"Slice"> = (node, operands, writer) => {
  const { starts, ends, axes, steps } = node.attributes;
  const { dtype, shape } = typeAt(node, 0);
  const size = resultAt(node).shape;
  const x = operandAt(operands, 0);
  if (sameDimensions(shape, size) && steps.every((step) => step > 0)) return [x];
  const along = (values: readonly number[], otherwise: Shape): number[] =>
    otherwise.map((value, axis) => values[axes.indexOf(axis)] ?? value);
  const begin = along(
    starts,
    shape.map(() => 0),
  );
  if (steps.every((step) => step === 1) || sizeOf(size) === 0) {
    // Where the slice is empty the start may be past the end, which the engine refuses.
    const first = begin.map((start, axis) => Math.min(start, (shape[axis] ?? 0) - (size[axis] ?? 0)));
    const attributes = { T: type(dtype), Index: type("i32") };
    return writer.emit("Slice", [x, writer.ints(first), writer.ints(size)], attributes);
  }
  // Our -1 is before the first element; the engine would count it from the end.
  const open = axes
    .filter((_, index) => (ends[index] ?? 0) < 0)
    .reduce((mask, axis) => mask | (1 << axis), 0);
  const bounds = [
    begin,
    along(ends, shape),
    along(
      steps,
      shape.map(() => 1),
    ),
  ];
  const attributes = strideAttributes(dtype, open);
  return writer.emit("StridedSlice", [x, ...bounds.map((list) => writer.ints(list))], attributes);
};

const concat: Lowering<"Concat"> = (node, operands, writer) => {
  if (operands.length === 1) return [operandAt(operands, 0)];
  return writer.emit("ConcatV2", [...operands, writer.scalar(node.attributes.axis, "i32")], {
    T: type(resultAt(node).dtype),
    Tidx: type("i32"),
    N: int(operands.length),
  });
};

const split: Lowering<"Split"> = (node, operands, writer) => {
  const { axis, split: sizes } = node.attributes;
  const x = operandAt(operands, 0);
  if (sizes.length === 1) return [x];
  return writer.emit(
    "SplitV",
    [x, writer.ints(sizes), writer.scalar(axis, "i32")],
    { T: type(typeAt(node, 0).dtype), Tlen: type("i32"), num_split: int(sizes.length) },
    { outputs: sizes.length },
  );
};

const expand: Lowering<"Expand"> = (node, operands, writer) => {
  const { dtype, shape } = resultAt(node);
  const x = operandAt(operands, 0);
  const from = typeAt(node, 0).shape;
  if (sizeOf(from) === sizeOf(shape)) return [reshape(x, dtype, from, shape, writer)];
  const y = writer.one("BroadcastTo", [x, writer.ints(shape)], { T: type(dtype), Tidx: type("i32") });
  if (isZero(x, writer)) noteZero(y, writer);
  return [y];
};

/** The engine reflects, but cannot repeat an edge: axis by axis, rows are gathered from their sources. */
function padByGather(
  x: string,
  dtype: DType,
  shape: Shape,
  pads: readonly number[],
  source: (place: number, size: number) => number,
  writer: TfWriter,
): string {
  return shape.reduce((name, size, axis) => {
    const [before, after] = [pads[axis] ?? 0, pads[shape.length + axis] ?? 0];
    if (before === 0 && after === 0) return name;
    const places = Int32Array.from({ length: before + size + after }, (_, place) =>
      source(place - before, size),
    );
    return gather(name, writer.constant(tensor(places)), dtype, writer, { axis });
  }, x);
}

const sources = {
  edge: (place: number, size: number): number => Math.min(Math.max(place, 0), size - 1),
  reflect: (place: number, size: number): number =>
    place < 0 ? -place : place < size ? place : 2 * (size - 1) - place,
};

const pad: Lowering<"Pad"> = (node, operands, writer) => {
  const { pads, mode, value } = node.attributes;
  const { dtype, shape } = typeAt(node, 0);
  const x = operandAt(operands, 0);
  if (mode !== "constant") return [padByGather(x, dtype, shape, pads, sources[mode], writer)];
  const widths = shape.map((_, axis) => [pads[axis] ?? 0, pads[shape.length + axis] ?? 0] as const);
  return [padded(x, dtype, widths, value, writer)];
};

const tile: Lowering<"Tile"> = (node, operands, writer) => {
  const { repeats } = node.attributes;
  const x = operandAt(operands, 0);
  if (repeats.every((repeat) => repeat === 1)) return [x];
  const attributes = { T: type(resultAt(node).dtype), Tmultiples: type("i32") };
  return writer.emit("Tile", [x, writer.ints(repeats)], attributes);
};

export const movementLowerings: LoweringTable<OpOf<"movement">> = {
  Reshape: throughF16(reshaped),
  Squeeze: throughF16(reshaped),
  Unsqueeze: throughF16(reshaped),
  Transpose: throughF16(transpose),
  Slice: throughF16(slice),
  Concat: throughF16(concat),
  Split: throughF16(split),
  Expand: throughF16(expand),
  Pad: throughF16(pad),
  Tile: throughF16(tile),
};
