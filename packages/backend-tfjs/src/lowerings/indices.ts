/** Converts indices to TensorFlow's form: nonnegative, with rows of coordinates to index several axes. */
import { type Shape, sameShape, tensor } from "@mp/graph";
import { int, type } from "../graph/attributes.js";
import type { ScopeWriter } from "../graph/scope-writer.js";
import type { Term } from "../graph/term.js";
import { count } from "./lowering.js";

/** Makes negative indices count from the start. The gather or scatter that reads them checks the range. */
export function fromStart(indices: Term, size: number | Shape, writer: ScopeWriter): Term {
  const sizes = typeof size === "number" ? writer.scalar(size, "i32") : writer.ints(size);
  const isNegative = indices.op("Less", 0);
  return isNegative.select(indices.add(sizes), indices);
}

/** The coordinate of each position of a shape along `axis`, i32. */
export function coordinate(shape: Shape, axis: number, writer: ScopeWriter): Term {
  const size = shape[axis] ?? 1;
  const places = Int32Array.from({ length: size }, (_, place) => place);
  const own = shape.map((_, index) => (index === axis ? size : 1));
  const line = writer.constant(tensor(places, own));
  if (sameShape(own, shape)) return line;
  const attributes = { T: type("i32"), Tidx: type("i32") };
  return writer.term("BroadcastTo", [line, writer.ints(shape)], attributes, { dtype: "i32", shape });
}

/** Stacks i32 tensors of one shape along a new last axis. */
export function stack(parts: readonly Term[], shape: Shape, writer: ScopeWriter): Term {
  const attributes = { T: type("i32"), N: int(parts.length), axis: int(shape.length) };
  return writer.term("Pack", parts, attributes, { dtype: "i32", shape: [...shape, parts.length] });
}

/** The shapes of data and indices of GatherElements or ScatterElements, with as few axes as possible. */
export interface ElementView {
  readonly data: Shape;
  readonly indices: Shape;
  /** The axis along which the indices select. */
  readonly axis: number;
}

/** Merges the axes before `axis`, and those after, if the indices cover them fully; drops axes of size 1. */
export function elementView(data: Shape, indices: Shape, axis: number): ElementView {
  const merge = (from: number, to: number): readonly (readonly [data: number, indices: number])[] => {
    const [own, their] = [data.slice(from, to), indices.slice(from, to)];
    const sizes = sameShape(own, their)
      ? [[count(own), count(own)] as const]
      : own.map((size, index) => [size, their[index] ?? 1] as const);
    return sizes.filter(([size, index]) => size !== 1 || index !== 1);
  };
  const before = merge(0, axis);
  const all = [...before, [data[axis] ?? 1, indices[axis] ?? 1] as const, ...merge(axis + 1, data.length)];
  return { data: all.map(([size]) => size), indices: all.map(([, size]) => size), axis: before.length };
}

/** The coordinates on all axes of the element that each index of a view selects; indices are nonnegative. */
export function elementCoordinates(view: ElementView, indices: Term, writer: ScopeWriter): Term {
  const parts = view.indices.map((_, index) =>
    index === view.axis ? indices : coordinate(view.indices, index, writer),
  );
  return stack(parts, view.indices, writer);
}
