/** Reductions. Floats of any dtype accumulate in f32; NaN always propagates. */

import { checkAttribute } from "../../graph/attribute-kinds-table.js";
import type { ArgOp, ReduceOp } from "../../graph/families.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { asTensor, emit, emitAll } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { axisOf } from "./axis.js";

export interface ReduceOptions {
  /** Axes to reduce, negative from the end; default all. */
  readonly axes?: readonly number[];
  /** Keep reduced axes as 1. */
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
    const normalized = axes.map((axis) => axisOf(x, axis, op));
    return emit(op, [x], { axes: normalized.sort((a, b) => a - b), keepdims });
  };

export const reduceSum: Reduction = reduction("ReduceSum");
export const reduceMean: Reduction = reduction("ReduceMean");
export const reduceMax: Reduction = reduction("ReduceMax");
export const reduceMin: Reduction = reduction("ReduceMin");
export const reduceProd: Reduction = reduction("ReduceProd");
/** Σ |x| */
export const reduceL1: Reduction = reduction("ReduceL1");
/** √Σ x² */
export const reduceL2: Reduction = reduction("ReduceL2");
/** log Σ x */
export const reduceLogSum: Reduction = reduction("ReduceLogSum");
/** log Σ eˣ, without overflow of eˣ. */
export const reduceLogSumExp: Reduction = reduction("ReduceLogSumExp");
/** Σ x² */
export const reduceSumSquare: Reduction = reduction("ReduceSumSquare");

export interface ArgOptions {
  readonly axis?: number;
  readonly keepdims?: boolean;
}

const ARG: OptionNames<ArgOptions> = { axis: true, keepdims: true };

type Search = (x: Tensor, options?: ArgOptions) => Tensor;

const search =
  (op: ArgOp): Search =>
  (x, options = {}) => {
    checkOptions(op, options, ARG, "{ axis: 1 }");
    const { axis = -1, keepdims = false } = options;
    return emit(op, [x], { axis: axisOf(x, axis, op), keepdims });
  };

/** Index (i32) of the largest element along the axis (default last); of equal elements the first. */
export const argMax: Search = search("ArgMax");
/** Index (i32) of the smallest element along the axis (default last); of equal elements the first. */
export const argMin: Search = search("ArgMin");

/** The k largest (or smallest) along the axis, sorted, with their indices (i32). */
export function topK(
  x: Tensor,
  k: number,
  options: { readonly axis?: number; readonly largest?: boolean } = {},
): { readonly values: Tensor; readonly indices: Tensor } {
  checkOptions("TopK", options, { axis: true, largest: true });
  const { axis = -1, largest = true } = options;
  const [values, indices] = emitAll("TopK", [x], { axis: axisOf(x, axis, "TopK"), k, largest });
  return { values: values as Tensor, indices: indices as Tensor };
}

/**
 * Cumulative sums along the axis, with x's dtype and shape; `exclusive` excludes the element itself, `reverse` sums
 * from the end. Halves accumulate in f32 and are rounded once.
 * @throws MP_DTYPE_MISMATCH, and MP_INVALID_ARGUMENT for an axis that x does not have
 */
export function cumSum(
  x: Tensor,
  axis: number,
  options: { readonly exclusive?: boolean; readonly reverse?: boolean } = {},
): Tensor {
  checkOptions("CumSum", options, { exclusive: true, reverse: true });
  const { exclusive = false, reverse = false } = options;
  return emit("CumSum", [x], { axis: axisOf(x, axis, "CumSum"), exclusive, reverse });
}
