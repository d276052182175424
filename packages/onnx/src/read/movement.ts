import { broadcastShapes, elementCount, type OpOf, type Shape, type Value } from "@mp/graph";
import { padByWrapping } from "./compositions/wrapped-pad.js";
import type { NodeReader, ReaderTable } from "./node/node-reader.js";

/** The integers of an operand. @throws MP_UNSUPPORTED if the operand is absent or not constant */
export function integers(reader: NodeReader, index: number, what: string): readonly number[] {
  return reader.integers(index) ?? reader.unsupported(`has no ${what}`);
}

/** Resolves the shape of a Reshape: 0 copies the operand's size (unless `allowzero`), -1 is inferred. */
function resolveShape(reader: NodeReader, from: Shape, wanted: readonly number[]): Shape {
  const copies = reader.int("allowzero", 0) === 0;
  const shape = wanted.map((size, axis) => (size === 0 && copies ? (from[axis] ?? -2) : size));
  const open = shape.indexOf(-1);
  if (open >= 0) {
    const known = elementCount(shape.toSpliced(open, 1), "Reshape");
    shape[open] = known === 0 ? 0 : elementCount(from, "Reshape") / known;
  }
  return shape;
}

/** Resolves ONNX's bounds of a slice, which may be negative (counted from the end) or beyond the size. */
function sliceBounds(size: number, start: number, end: number, step: number): readonly [number, number] {
  const fromStart = (at: number): number => (at < 0 ? at + size : at);
  const clamp = (at: number, low: number, high: number): number => Math.min(Math.max(at, low), high);
  return step > 0
    ? [clamp(fromStart(start), 0, size), clamp(fromStart(end), 0, size)]
    : [clamp(fromStart(start), 0, size - 1), clamp(fromStart(end), -1, size - 1)];
}

/** Sizes of the parts of a Split into equal parts; the last part may be smaller. */
function equalParts(reader: NodeReader, size: number): readonly number[] {
  const made = reader.node.outputs.length;
  const count = reader.int("num_outputs", made);
  if (count !== made) return reader.unsupported(`has num_outputs ${count} and ${made} outputs`);
  const part = Math.ceil(size / count);
  return Array.from({ length: count }, (_, index) => Math.max(0, Math.min(part, size - index * part)));
}

function padsOnAllAxes(reader: NodeReader, rank: number): readonly number[] {
  const given = integers(reader, 1, "pads");
  const axes = (reader.integers(3) ?? [...Array(rank).keys()]).map((axis) => reader.fromFront(axis, rank));
  if (given.length !== 2 * axes.length)
    return reader.unsupported(`has ${given.length} pads for ${axes.length} axes`);
  const pads = new Array<number>(2 * rank).fill(0);
  axes.forEach((axis, index) => {
    pads[axis] = given[index] ?? 0;
    pads[rank + axis] = given[axes.length + index] ?? 0;
  });
  return pads;
}

/** Removes elements at the ends where pads are negative. */
function crop(reader: NodeReader, x: Value, pads: readonly number[]): Value {
  if (pads.every((count) => count >= 0)) return x;
  const removed = pads.map((count) => Math.max(0, -count));
  const axes = x.shape.map((_, axis) => axis);
  const ends = x.shape.map((size, axis) => size - (removed[x.shape.length + axis] as number));
  const starts = removed.slice(0, x.shape.length);
  if (starts.some((start, axis) => start > (ends[axis] as number)))
    return reader.unsupported(
      `removes more than there is of [${x.shape.join(", ")}] by pads [${pads.join(", ")}]`,
    );
  return reader.emitOne("Slice", [x], { starts, ends, axes, steps: axes.map(() => 1) });
}

export const movementReaders: ReaderTable<OpOf<"movement">> = {
  Reshape: (reader) => {
    const x = reader.operand(0);
    const shape = resolveShape(reader, x.shape, integers(reader, 1, "shape"));
    return [reader.emitOne("Reshape", [x], { shape })];
  },
  Transpose: (reader) => {
    const x = reader.operand(0);
    const perm = reader.ints("perm") ?? x.shape.map((_, axis) => x.shape.length - 1 - axis);
    return [reader.emitOne("Transpose", [x], { perm })];
  },
  Slice: (reader) => {
    const x = reader.operand(0);
    const [first, last] = [integers(reader, 1, "starts"), integers(reader, 2, "ends")];
    const axes = (reader.integers(3) ?? first.map((_, axis) => axis)).map((axis) =>
      reader.fromFront(axis, x.shape.length),
    );
    const steps = reader.integers(4) ?? first.map(() => 1);
    if (last.length !== first.length || axes.length !== first.length || steps.length !== first.length) {
      return reader.unsupported("has starts, ends, axes and steps of different lengths");
    }
    const ranges = axes.map((axis, index) => {
      const [start, end, step] = [first[index], last[index], steps[index]] as [number, number, number];
      return sliceBounds(x.shape[axis] as number, start, end, step);
    });
    const starts = ranges.map(([start]) => start);
    const ends = ranges.map(([, end]) => end);
    return [reader.emitOne("Slice", [x], { starts, ends, axes, steps })];
  },
  Concat: (reader) => {
    const operands = reader.operands();
    return [reader.emitOne("Concat", operands, { axis: reader.axis(operands[0]?.shape.length ?? 0) })];
  },
  Split: (reader) => {
    const x = reader.operand(0);
    const axis = reader.axis(x.shape.length, 0);
    const split = reader.integers(1) ?? equalParts(reader, x.shape[axis] as number);
    return reader.emit("Split", [x], { axis, split });
  },
  Expand: (reader) => {
    const x = reader.operand(0);
    const shape = broadcastShapes(x.shape, integers(reader, 1, "shape"), "Expand");
    return [reader.emitOne("Expand", [x], { shape })];
  },
  Squeeze: (reader) => {
    const x = reader.operand(0);
    const axes =
      reader.integers(1)?.map((axis) => reader.fromFront(axis, x.shape.length)) ??
      x.shape.flatMap((size, axis) => (size === 1 ? [axis] : []));
    return [reader.emitOne("Squeeze", [x], { axes })];
  },
  Unsqueeze: (reader) => {
    const x = reader.operand(0);
    const given = integers(reader, 1, "axes");
    const axes = given.map((axis) => reader.fromFront(axis, x.shape.length + given.length));
    return [reader.emitOne("Unsqueeze", [x], { axes })];
  },
  Pad: (reader) => {
    const x = reader.operand(0);
    const pads = padsOnAllAxes(reader, x.shape.length);
    const mode = reader.choice("mode", ["constant", "reflect", "edge", "wrap"], "pads by");
    const value = reader.number(2, "the value of pads") ?? 0;
    const added = pads.map((count) => Math.max(0, count));
    // Modes that copy elements see the cropped operand; constant padding may be cropped afterwards.
    const kept = mode === "constant" ? x : crop(reader, x, pads);
    if (mode === "wrap") return padByWrapping(reader, kept, added);
    const padded = reader.emitOne("Pad", [kept], { pads: added, mode, value });
    return [mode === "constant" ? crop(reader, padded, pads) : padded];
  },
  Tile: (reader) => [
    reader.emitOne("Tile", [reader.operand(0)], { repeats: integers(reader, 1, "repeats") }),
  ],
};
