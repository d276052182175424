/** Reductions. Floats of any dtype accumulate in f32; NaN always propagates. */

import { checkAttribute } from "../../graph/attribute-kinds-table.js";
import type { ArgOp, ReduceOp } from "../../graph/families.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { asTensor, emit, emitAll } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { readAxis } from "./axis.js";

/** Options of reductions. */
export interface ReduceOptions {
  /** Axes to reduce; negative axes count from the end. Default all. */
  readonly axes?: readonly number[];
  /** Whether to keep reduced axes as 1; default false. */
  readonly keepdims?: boolean;
}

type Reduction = (x: Tensor, options?: ReduceOptions) => Tensor;

const REDUCE: OptionNames<ReduceOptions> = { axes: true, keepdims: true };

const reduction =
  (op: ReduceOp): Reduction =>
  (x, options = {}) => {
    checkOptions(op, options, REDUCE, "{ axes: [0] }");
    const { shape } = asTensor(x, op);
    const { axes = shape.map((_, axis) => axis), keepdims = false } = options;
    checkAttribute(op, "axes", axes);
    const normalized = axes.map((axis) => readAxis(x, axis, op));
    return emit(op, [x], { axes: normalized.sort((a, b) => a - b), keepdims });
  };

/** Σ x over the axes (default all). f16 and bf16 accumulate in f32 and are rounded once; integers wrap. */
export const reduceSum: Reduction = reduction("ReduceSum");

/** The mean of floats over the axes (default all), summed in f32. @throws MP_SHAPE_MISMATCH for no elements */
export const reduceMean: Reduction = reduction("ReduceMean");

/** The largest element over the axes (default all); NaN if one is NaN. Equal elements share the gradient. */
export const reduceMax: Reduction = reduction("ReduceMax");

/** The smallest element over the axes (default all); NaN if one is NaN. Equal elements share the gradient. */
export const reduceMin: Reduction = reduction("ReduceMin");

/** The product over the axes (default all). Floats are multiplied in f32; integers wrap. */
export const reduceProd: Reduction = reduction("ReduceProd");

/** Σ |x| over the axes (default all). */
export const reduceL1: Reduction = reduction("ReduceL1");

/** √Σ x² over the axes (default all), in f32. Where the result is 0, the gradient is 0. */
export const reduceL2: Reduction = reduction("ReduceL2");

/** log Σ x over the axes (default all); floats. */
export const reduceLogSum: Reduction = reduction("ReduceLogSum");

/** log Σ eˣ over the axes (default all), without overflow of eˣ; floats. */
export const reduceLogSumExp: Reduction = reduction("ReduceLogSumExp");

/** Σ x² over the axes (default all), in f32. */
export const reduceSumSquare: Reduction = reduction("ReduceSumSquare");

export interface ArgOptions {
  /** The axis to search along; default -1, the last. */
  readonly axis?: number;
  /** Whether the axis stays, with size 1; default false. */
  readonly keepdims?: boolean;
}

const ARG: OptionNames<ArgOptions> = { axis: true, keepdims: true };

type Search = (x: Tensor, options?: ArgOptions) => Tensor;

const search =
  (op: ArgOp): Search =>
  (x, options = {}) => {
    checkOptions(op, options, ARG, "{ axis: 1 }");
    const { axis = -1, keepdims = false } = options;
    return emit(op, [x], { axis: readAxis(x, axis, op), keepdims });
  };

/**
 * Index (i32) of the largest element along the axis (default last): the first of equal elements, or the first NaN. It
 * has no gradient.
 */
export const argMax: Search = search("ArgMax");

/**
 * Index (i32) of the smallest element along the axis (default last): the first of equal elements, or the first NaN.
 * It has no gradient.
 */
export const argMin: Search = search("ArgMin");

/**
 * The k largest (or smallest) elements along the axis, sorted, with their indices (i32). NaN counts as the largest
 * number. Equal elements keep their order.
 * @throws MP_INVALID_ARGUMENT for a k above the size of the axis
 */
export function topK(
  x: Tensor,
  k: number,
  options: { readonly axis?: number; readonly largest?: boolean } = {},
): { readonly values: Tensor; readonly indices: Tensor } {
  checkOptions("TopK", options, { axis: true, largest: true });
  const { axis = -1, largest = true } = options;
  const [values, indices] = emitAll("TopK", [x], { axis: readAxis(x, axis, "TopK"), k, largest });
  return { values: values as Tensor, indices: indices as Tensor };
}

/**
 * Cumulative sums along the axis, with x's dtype and shape; `exclusive` excludes the element itself, `reverse` sums
 * from the end. f16 and bf16 accumulate in f32 and are rounded once.
 * @throws MP_DTYPE_MISMATCH, and MP_INVALID_ARGUMENT for an axis that x does not have
 */
export function cumSum(
  x: Tensor,
  axis: number,
  options: { readonly exclusive?: boolean; readonly reverse?: boolean } = {},
): Tensor {
  checkOptions("CumSum", options, { exclusive: true, reverse: true });
  const { exclusive = false, reverse = false } = options;
  return emit("CumSum", [x], { axis: readAxis(x, axis, "CumSum"), exclusive, reverse });
}
