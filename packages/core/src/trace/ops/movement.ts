/** Operators that move elements without computing on them, and the scatters that accumulate. */
import type { ComputeDType, DType } from "../../dtype.js";
import { MpError } from "../../errors.js";
import { checkAttribute } from "../../graph/attribute-kinds-table.js";
import type { ScatterReduction } from "../../graph/attributes.js";
import { type HostTensor, isHostTensor } from "../../host-tensor.js";
import { checkOptions } from "../../options.js";
import { elementCount, formatShape, normalizeAxis, type Shape } from "../../shape.js";
import { shown } from "../../shown.js";
import { asTensor, emit, emitAll } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { axisOf } from "./axis.js";

/** @throws MP_INVALID_ARGUMENT for what is no list, or holds what is none of `members` */
function checkList(
  what: string,
  members: string,
  list: unknown,
  holds: (member: unknown) => boolean = () => true,
): void {
  if (Array.isArray(list) && list.every(holds)) return;
  throw new MpError("MP_INVALID_ARGUMENT", `${what}: takes a list of ${members}, got ${shown(list)}`);
}

/** One dimension may be -1: whatever is left. */
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
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `Reshape: ${formatShape(x.shape)} does not divide into ${formatShape(shape)}`,
    );
  }
  return emit("Reshape", [x], {
    shape: shape.map((dimension, axis) => (axis === open ? size / rest : dimension)),
  });
}

/** Orders axes by `perm`; reverses them when it is left out. */
export function transpose(x: Tensor, perm?: readonly number[]): Tensor {
  const { length } = asTensor(x, "Transpose").shape;
  const order = perm === undefined ? Array.from({ length }, (_, axis) => length - 1 - axis) : perm;
  checkAttribute("Transpose", "perm", order);
  return emit("Transpose", [x], { perm: order.map((axis) => axisOf(x, axis, "Transpose")) });
}

export interface SliceRange {
  readonly axis: number;
  /** Negative counts from the end; clamped to the axis. */
  readonly start?: number;
  readonly end?: number;
  /** Never 0; negative runs backwards. */
  readonly step?: number;
}

/** Cuts the ranges out, one per axis at most. */
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
      throw new MpError(
        "MP_INVALID_ARGUMENT",
        `Slice: ${name} is an integer or infinite, got ${shown(value)}`,
      );
    }
    const index = axisOf(x, axis, "Slice");
    const size = x.shape[index] as number;
    const [low, high] = step > 0 ? [0, size] : [-1, size - 1];
    const bound = (given: number | undefined, open: number): number =>
      given === undefined ? open : Math.min(Math.max(given < 0 ? given + size : given, low), high);
    return {
      axis: index,
      step,
      start: bound(start, step > 0 ? 0 : size - 1),
      end: bound(end, step > 0 ? size : -1),
    };
  });
  if (new Set(parts.map((part) => part.axis)).size !== parts.length) {
    throw new MpError("MP_INVALID_ARGUMENT", "Slice: an axis is given twice");
  }
  return emit("Slice", [x], {
    starts: parts.map((part) => part.start),
    ends: parts.map((part) => part.end),
    axes: parts.map((part) => part.axis),
    steps: parts.map((part) => part.step),
  });
}

/**
 * Joins tensors of one dtype, whose shapes differ along the axis alone.
 * @throws MP_INVALID_ARGUMENT for none, MP_DTYPE_MISMATCH, MP_SHAPE_MISMATCH
 */
export function concat(tensors: readonly Tensor[], axis = 0): Tensor {
  checkList("Concat", "tensors", tensors);
  const [head] = tensors;
  if (head === undefined) throw new MpError("MP_INVALID_ARGUMENT", "Concat: needs one tensor or more");
  return emit("Concat", tensors, { axis: axisOf(head, axis, "Concat") });
}

/** Joins tensors of one shape along a new axis. */
export function stack(tensors: readonly Tensor[], axis = 0): Tensor {
  checkList("stack", "tensors", tensors);
  return concat(
    tensors.map((tensor) => unsqueeze(tensor, [axis])),
    axis,
  );
}

/** Cuts an axis into that many equal parts, or into parts of the given sizes. */
export function split(x: Tensor, parts: number | readonly number[], axis = 0): readonly Tensor[] {
  const index = axisOf(x, axis, "Split");
  const size = x.shape[index] as number;
  if (typeof parts === "number" && !(parts >= 1 && size % parts === 0)) {
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `Split: an axis of ${size} does not split into ${parts} equal parts`,
    );
  }
  const sizes = typeof parts === "number" ? new Array<number>(parts).fill(size / parts) : parts;
  checkAttribute("Split", "split", sizes);
  return emitAll("Split", [x], { axis: index, split: [...sizes] });
}

/** Slices of `data` along the axis at indices (i32); an embedding look-up with axis 0. */
export function gather(data: Tensor, indices: Tensor, axis = 0): Tensor {
  return emit("Gather", [data, indices], { axis: axisOf(data, axis, "Gather") });
}

/**
 * From data along the axis the element that each index (i32, counted from the end below 0) names, in its own place on the
 * other axes: of the shape of the indices.
 * @throws MP_SHAPE_MISMATCH for indices of another rank, MP_DTYPE_MISMATCH
 */
export function gatherElements(data: Tensor, indices: Tensor, axis = 0): Tensor {
  return emit("GatherElements", [data, indices], { axis: axisOf(data, axis, "GatherElements") });
}

/**
 * Slices of data at places: indices (i32) [batch…, n…, k] name the first k axes behind `batchDims` that both have.
 * @throws MP_SHAPE_MISMATCH for indices that do not index data of that shape, MP_DTYPE_MISMATCH
 */
export function gatherND(data: Tensor, indices: Tensor, batchDims = 0): Tensor {
  return emit("GatherND", [data, indices], { batchDims });
}

export interface ScatterOptions {
  readonly axis?: number;
  /** How updates meet what is there; repeated indices accumulate in f32. */
  readonly reduction?: ScatterReduction;
}

/**
 * A copy of data with updates, of its dtype and the shape of the indices, where `gatherElements` would take them from.
 * @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH, MP_INVALID_ARGUMENT
 */
export function scatterElements(
  data: Tensor,
  indices: Tensor,
  updates: Tensor,
  options: ScatterOptions = {},
): Tensor {
  checkOptions("ScatterElements", options, { axis: true, reduction: true });
  const { axis = 0, reduction = "none" } = options;
  const along = axisOf(data, axis, "ScatterElements");
  return emit("ScatterElements", [data, indices, updates], { axis: along, reduction });
}

/** A copy of data with updates at the places that `gatherND` would take. @throws as `scatterElements` */
export function scatterND(
  data: Tensor,
  indices: Tensor,
  updates: Tensor,
  options: { readonly reduction?: ScatterReduction } = {},
): Tensor {
  checkOptions("ScatterND", options, { reduction: true });
  const { reduction = "none" } = options;
  return emit("ScatterND", [data, indices, updates], { reduction });
}

/** Broadcasts to that shape; the same shape gives the same tensor. */
export function expand(x: Tensor, shape: Shape): Tensor {
  checkAttribute("Expand", "shape", shape);
  return emit("Expand", [x], { shape: [...shape] });
}

/** Drops those axes of 1; all of them when left out. */
export function squeeze(x: Tensor, axes?: readonly number[]): Tensor {
  const all = asTensor(x, "Squeeze").shape.flatMap((dimension, axis) => (dimension === 1 ? [axis] : []));
  const given = axes === undefined ? all : axes;
  checkAttribute("Squeeze", "axes", given);
  const picked = given.map((axis) => axisOf(x, axis, "Squeeze"));
  return emit("Squeeze", [x], { axes: picked.sort((a, b) => a - b) });
}

/** Inserts axes of 1 at those places of the result. */
export function unsqueeze(x: Tensor, axes: readonly number[]): Tensor {
  checkAttribute("Unsqueeze", "axes", axes);
  const rank = asTensor(x, "Unsqueeze").shape.length + axes.length;
  const places = axes.map((axis) => normalizeAxis(axis, rank, "Unsqueeze"));
  return emit("Unsqueeze", [x], { axes: places.sort((a, b) => a - b) });
}

export interface PadOptions {
  readonly mode?: "constant" | "reflect" | "edge";
  readonly value?: number;
}

/** Pads each axis by [before, after]. */
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

/** Repeats x along each axis so many times. @throws MP_INVALID_ARGUMENT for other than a number for each axis */
export function tile(x: Tensor, repeats: readonly number[]): Tensor {
  checkAttribute("Tile", "repeats", repeats);
  return emit("Tile", [x], { repeats: [...repeats] });
}

/** 1 at each index (i32) along a new axis of that depth, 0 elsewhere. */
export function oneHot(
  indices: Tensor,
  depth: number,
  options: { readonly axis?: number; readonly dtype?: ComputeDType | "i32" } = {},
): Tensor {
  checkOptions("OneHot", options, { axis: true, dtype: true });
  const { axis: along = -1, dtype = "f32" } = options;
  const axis = normalizeAxis(along, asTensor(indices, "OneHot").shape.length + 1, "OneHot");
  return emit("OneHot", [indices], { axis, depth, dtype });
}

/** Host data as a tensor of the graph. Large data is bound to the engine once, not copied per run. */
export function constant(value: HostTensor): Tensor {
  if (!isHostTensor(value)) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `constant: takes host data, got ${shown(value)}; make it with tensor(data, shape)`,
    );
  }
  return emit("Constant", [], { value });
}

/** start, start + delta, … below limit. */
export function range(
  start: number,
  limit: number,
  options: { readonly delta?: number; readonly dtype?: DType } = {},
): Tensor {
  checkOptions("Range", options, { delta: true, dtype: true });
  const { delta = 1, dtype = "i32" } = options;
  return emit("Range", [], { start, limit, delta, dtype });
}
