/** Reductions. Floats accumulate in f32 whatever the tensor's dtype; NaN always comes through. */
import { checkAttribute } from "../../graph/attribute-kinds-table.js";
import type { Op } from "../../graph/attributes.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { normalizeAxis } from "../../shape.js";
import { asTensor, emit, emitAll } from "../emit.js";
import type { Tensor } from "../tensor.js";

export interface ReduceOptions {
  /** Axes to reduce, negative from the end; all of them when left out. */
  readonly axes?: readonly number[];
  /** Keep reduced axes as 1. */
  readonly keepdims?: boolean;
}

type Reduction = (x: Tensor, options?: ReduceOptions) => Tensor;
type ReduceOp = Extract<Op, `Reduce${string}`>;

const REDUCE: OptionNames<ReduceOptions> = { axes: true, keepdims: true };

const reduction =
  (op: ReduceOp): Reduction =>
  (x, options = {}) => {
    checkOptions(op, options, REDUCE, "{ axes: [0] }");
    const { shape } = asTensor(x, op);
    const { axes = shape.map((_, axis) => axis), keepdims = false } = options;
    checkAttribute(op, "axes", axes);
    const normalized = axes.map((axis) => normalizeAxis(axis, shape.length, op));
    return emit(op, [x], { axes: normalized.sort((a, b) => a - b), keepdims });
  };

export const reduceSum: Reduction = reduction("ReduceSum");
export const reduceMean: Reduction = reduction("ReduceMean");
export const reduceMax: Reduction = reduction("ReduceMax");
export const reduceMin: Reduction = reduction("ReduceMin");
export const reduceProd: Reduction = reduction("ReduceProd");
export const reduceL1: Reduction = reduction("ReduceL1");
export const reduceL2: Reduction = reduction("ReduceL2");
export const reduceLogSum: Reduction = reduction("ReduceLogSum");
export const reduceLogSumExp: Reduction = reduction("ReduceLogSumExp");
export const reduceSumSquare: Reduction = reduction("ReduceSumSquare");

export interface ArgOptions {
  readonly axis?: number;
  readonly keepdims?: boolean;
}

const ARG: OptionNames<ArgOptions> = { axis: true, keepdims: true };

/** Index (i32) of the largest along the axis (default last), the first of equals. */
export function argMax(x: Tensor, options: ArgOptions = {}): Tensor {
  checkOptions("ArgMax", options, ARG, "{ axis: 1 }");
  const { axis = -1, keepdims = false } = options;
  return emit("ArgMax", [x], {
    axis: normalizeAxis(axis, asTensor(x, "ArgMax").shape.length, "ArgMax"),
    keepdims,
  });
}

/** Index (i32) of the smallest along the axis (default last), the first of equals. */
export function argMin(x: Tensor, options: ArgOptions = {}): Tensor {
  checkOptions("ArgMin", options, ARG, "{ axis: 1 }");
  const { axis = -1, keepdims = false } = options;
  return emit("ArgMin", [x], {
    axis: normalizeAxis(axis, asTensor(x, "ArgMin").shape.length, "ArgMin"),
    keepdims,
  });
}

/** The k largest (or smallest) along the axis, sorted, with their indices (i32). */
export function topK(
  x: Tensor,
  k: number,
  options: { readonly axis?: number; readonly largest?: boolean } = {},
): { readonly values: Tensor; readonly indices: Tensor } {
  checkOptions("TopK", options, { axis: true, largest: true });
  const { axis: along = -1, largest = true } = options;
  const axis = normalizeAxis(along, asTensor(x, "TopK").shape.length, "TopK");
  const [values, indices] = emitAll("TopK", [x], { axis, k, largest });
  return { values: values as Tensor, indices: indices as Tensor };
}

export function cumSum(
  x: Tensor,
  axis: number,
  options: { readonly exclusive?: boolean; readonly reverse?: boolean } = {},
): Tensor {
  checkOptions("CumSum", options, { exclusive: true, reverse: true });
  const { exclusive = false, reverse = false } = options;
  const along = normalizeAxis(axis, asTensor(x, "CumSum").shape.length, "CumSum");
  return emit("CumSum", [x], { axis: along, exclusive, reverse });
}
