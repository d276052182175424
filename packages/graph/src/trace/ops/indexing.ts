/** Reads and writes at indices that are data, and scatters that accumulate. */
import type { ComputeDType } from "../../dtype.js";
import type { ScatterReduction } from "../../graph/attributes.js";
import { checkOptions } from "../../options.js";
import { normalizeAxis } from "../../shape.js";
import { asTensor, emit } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { readAxis } from "./axis.js";

/**
 * Slices `data` along the axis at indices (i32): [a…, n, b…] with indices of shape s to [a…, s…, b…]. With axis 0 it
 * is an embedding lookup. Negative indices count from the end. The gradients of a repeated index add up.
 * @throws MP_INVALID_ARGUMENT for an axis that data does not have, MP_DTYPE_MISMATCH for indices that are not i32
 */
export function gather(data: Tensor, indices: Tensor, axis = 0): Tensor {
  return emit("Gather", [data, indices], { axis: readAxis(data, axis, "Gather") });
}

/**
 * Takes the element of data that each index (i32, negative from the end) selects along the axis, at the index's own
 * position on the other axes, like PyTorch's `gather`. The result has the shape of the indices.
 * @throws MP_SHAPE_MISMATCH for indices of another rank, MP_DTYPE_MISMATCH
 */
export function gatherElements(data: Tensor, indices: Tensor, axis = 0): Tensor {
  return emit("GatherElements", [data, indices], { axis: readAxis(data, axis, "GatherElements") });
}

/**
 * Slices data at indices (i32) [batch…, n…, k]. Each row of k indices selects along the first k axes of data after
 * the `batchDims` leading axes that indices and data share.
 * @throws MP_SHAPE_MISMATCH for indices that do not fit the shape of data, MP_DTYPE_MISMATCH
 */
export function gatherND(data: Tensor, indices: Tensor, batchDims = 0): Tensor {
  return emit("GatherND", [data, indices], { batchDims });
}

export interface ScatterOptions {
  /** The axis that the indices point along; default 0. */
  readonly axis?: number;
  /** How updates combine with existing elements; default `none`: they replace. Repeated indices accumulate in f32. */
  readonly reduction?: ScatterReduction;
}

/**
 * Copies data and puts updates at the positions that `gatherElements` would read. Updates have data's dtype and the
 * shape of the indices.
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
  const along = readAxis(data, axis, "ScatterElements");
  return emit("ScatterElements", [data, indices, updates], { axis: along, reduction });
}

/** Copies data and puts updates at the positions that `gatherND` would read. @throws as `scatterElements` */
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

/**
 * 1 at each index (i32, any shape) along a new axis of size `depth`, 0 elsewhere. By default the new axis is the last
 * and the dtype f32. An index outside -depth … depth - 1 gives zeros.
 */
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
