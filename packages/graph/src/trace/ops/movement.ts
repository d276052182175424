/** Operators that move elements without computing on them. */
import { invalid, shapeMismatch } from "../../errors.js";
import { checkAttribute } from "../../graph/attribute-kinds-table.js";
import { checkOptions } from "../../options.js";
import { elementCount, formatShape, normalizeAxis, type Shape } from "../../shape.js";
import { shown } from "../../shown.js";
import { asTensor, emit, emitAll } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { readAxis } from "./axis.js";

/** @throws MP_INVALID_ARGUMENT for a value that is not a list, or an element that is not one of `members` */
function checkList(
  what: string,
  members: string,
  list: unknown,
  holds: (member: unknown) => boolean = () => true,
): void {
  if (Array.isArray(list) && list.every(holds)) return;
  throw invalid(`${what}: takes a list of ${members}, got ${shown(list)}`);
}

/**
 * x in another shape, with its elements in row-major order; any dtype. One dimension may be -1, which is inferred.
 * @throws MP_SHAPE_MISMATCH for a shape with another number of elements, MP_INVALID_ARGUMENT
 */
export function reshape(x: Tensor, shape: Shape): Tensor {
  checkAttribute("Reshape", "shape", shape);
  const open = shape.indexOf(-1);
  if (open < 0) return emit("Reshape", [x], { shape: [...shape] });
  const rest = elementCount(
    shape.filter((_, axis) => axis !== open),
    "Reshape",
  );
  const size = elementCount(asTensor(x, "Reshape").shape, "Reshape");
  if (rest === 0 || size % rest !== 0) {
    throw shapeMismatch(`Reshape: ${formatShape(x.shape)} does not divide into ${formatShape(shape)}`);
  }
  return emit("Reshape", [x], {
    shape: shape.map((dimension, axis) => (axis === open ? size / rest : dimension)),
  });
}

/**
 * x with its axes permuted by `perm`, reversed by default; any dtype. Axis i of the result is axis perm[i] of x.
 * @throws MP_INVALID_ARGUMENT for something other than a permutation of x's axes
 */
export function transpose(x: Tensor, perm?: readonly number[]): Tensor {
  const { length } = asTensor(x, "Transpose").shape;
  const order = perm === undefined ? Array.from({ length }, (_, axis) => length - 1 - axis) : perm;
  checkAttribute("Transpose", "perm", order);
  return emit("Transpose", [x], { perm: order.map((axis) => readAxis(x, axis, "Transpose")) });
}

export interface SliceRange {
  readonly axis: number;
  /** First element; a negative number counts from the end. `start` and `end` are clamped to the axis. */
  readonly start?: number;
  readonly end?: number;
  /** Never 0; a negative step goes backwards. Default 1. */
  readonly step?: number;
}

/**
 * The given ranges of x, at most one per axis; any dtype. Other axes stay whole.
 * @throws MP_INVALID_ARGUMENT for an axis that x does not have or that is given twice
 */
export function slice(x: Tensor, ranges: readonly SliceRange[]): Tensor {
  checkList("Slice", "ranges such as { axis: 0, end: 2 }", ranges);
  const parts = ranges.map((range) => {
    checkOptions("Slice", range, { axis: true, start: true, end: true, step: true }, "{ axis: 0, end: 2 }");
    const { axis, start, end, step = 1 } = range;
    for (const [name, value] of Object.entries({ start, end, step })) {
      if (
        value === undefined ||
        Number.isInteger(value) ||
        value === Number.POSITIVE_INFINITY ||
        value === Number.NEGATIVE_INFINITY
      )
        continue;
      throw invalid(`Slice: ${name} must be an integer or infinite, got ${shown(value)}`);
    }
    const index = readAxis(x, axis, "Slice");
    const size = x.shape[index] as number;
    const [low, high] = step > 0 ? [0, size] : [-1, size - 1];
    const boundary = (given: number | undefined, open: number): number =>
      given === undefined ? open : Math.min(Math.max(given < 0 ? given + size : given, low), high);
    return {
      axis: index,
      step,
      start: boundary(start, step > 0 ? 0 : size - 1),
      end: boundary(end, step > 0 ? size : -1),
    };
  });
  if (new Set(parts.map((part) => part.axis)).size !== parts.length) {
    throw invalid("Slice: an axis is given twice");
  }
  return emit("Slice", [x], {
    starts: parts.map((part) => part.start),
    ends: parts.map((part) => part.end),
    axes: parts.map((part) => part.axis),
    steps: parts.map((part) => part.step),
  });
}

/**
 * Concatenates tensors of one dtype whose shapes differ only along the axis.
 * @throws MP_INVALID_ARGUMENT for an empty list, MP_DTYPE_MISMATCH, MP_SHAPE_MISMATCH
 */
export function concat(tensors: readonly Tensor[], axis = 0): Tensor {
  checkList("Concat", "tensors", tensors);
  const [head] = tensors;
  if (head === undefined) throw invalid("Concat: needs one tensor or more");
  return emit("Concat", tensors, { axis: readAxis(head, axis, "Concat") });
}

/**
 * Tensors of one shape and dtype, stacked along a new axis: n tensors [a, b] give [n, a, b].
 * @throws MP_INVALID_ARGUMENT for an empty list, MP_DTYPE_MISMATCH, MP_SHAPE_MISMATCH
 */
export function stack(tensors: readonly Tensor[], axis = 0): Tensor {
  checkList("stack", "tensors", tensors);
  return concat(
    tensors.map((tensor) => unsqueeze(tensor, [axis])),
    axis,
  );
}

/**
 * Splits an axis into `parts` equal parts, or into parts of the given sizes; any dtype.
 * @throws MP_SHAPE_MISMATCH for parts that do not make up the axis, MP_INVALID_ARGUMENT
 */
export function split(x: Tensor, parts: number | readonly number[], axis = 0): readonly Tensor[] {
  const index = readAxis(x, axis, "Split");
  const size = x.shape[index] as number;
  if (typeof parts === "number" && !(parts >= 1 && size % parts === 0)) {
    throw shapeMismatch(`Split: an axis of ${size} does not split into ${parts} equal parts`);
  }
  const sizes = typeof parts === "number" ? new Array<number>(parts).fill(size / parts) : parts;
  checkAttribute("Split", "split", sizes);
  return emitAll("Split", [x], { axis: index, split: [...sizes] });
}

/**
 * x broadcast to a shape; any dtype. The gradient is summed to x's shape.
 * @throws MP_SHAPE_MISMATCH
 */
export function expand(x: Tensor, shape: Shape): Tensor {
  checkAttribute("Expand", "shape", shape);
  return emit("Expand", [x], { shape: [...shape] });
}

/**
 * x without the given axes of size 1, by default without all axes of size 1; any dtype.
 * @throws MP_SHAPE_MISMATCH for an axis of another size, MP_INVALID_ARGUMENT
 */
export function squeeze(x: Tensor, axes?: readonly number[]): Tensor {
  const all = asTensor(x, "Squeeze").shape.flatMap((dimension, axis) => (dimension === 1 ? [axis] : []));
  const given = axes === undefined ? all : axes;
  checkAttribute("Squeeze", "axes", given);
  const picked = given.map((axis) => readAxis(x, axis, "Squeeze"));
  return emit("Squeeze", [x], { axes: picked.sort((a, b) => a - b) });
}

/** x with new axes of size 1 at the given positions of the result; any dtype. @throws MP_INVALID_ARGUMENT */
export function unsqueeze(x: Tensor, axes: readonly number[]): Tensor {
  checkAttribute("Unsqueeze", "axes", axes);
  const rank = asTensor(x, "Unsqueeze").shape.length + axes.length;
  const normalized = axes.map((axis) => normalizeAxis(axis, rank, "Unsqueeze"));
  return emit("Unsqueeze", [x], { axes: normalized.sort((a, b) => a - b) });
}

export interface PadOptions {
  /** Content of new elements: `value` (default), x mirrored without its edge, or copies of the edge. */
  readonly mode?: "constant" | "reflect" | "edge";
  /** Value of the elements that mode `constant` adds; default 0. */
  readonly value?: number;
}

/**
 * x with [before, after] elements added to each axis: a constant, copies of the edge, or the mirror image (see
 * `PadOptions`).
 * @throws MP_INVALID_ARGUMENT unless there is one pair per axis
 */
export function pad(
  x: Tensor,
  pads: readonly (readonly [number, number])[],
  options: PadOptions = {},
): Tensor {
  checkOptions("Pad", options, { mode: true, value: true });
  const { mode = "constant", value = 0 } = options;
  checkList("Pad", "[before, after] for each axis", pads, (pair) => Array.isArray(pair) && pair.length === 2);
  return emit("Pad", [x], {
    pads: [...pads.map(([before]) => before), ...pads.map(([, after]) => after)],
    mode,
    value,
  });
}

/**
 * x repeated `repeats[i]` times along each axis i; any dtype.
 * @throws MP_INVALID_ARGUMENT unless there is one number per axis
 */
export function tile(x: Tensor, repeats: readonly number[]): Tensor {
  checkAttribute("Tile", "repeats", repeats);
  return emit("Tile", [x], { repeats: [...repeats] });
}
