/** Pooling over the spatial axes d… of x [N, C, d…], which may be one or more. */
import { shapeMismatch } from "../../errors.js";
import type { Op, PoolingWindow } from "../../graph/attributes.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { formatShape } from "../../shape.js";
import { asTensor, emit } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { reduceMax, reduceMean } from "./reduce.js";
import { alongAxes, readWindow, type WindowOptions } from "./window-options.js";

/** Options of pools. `strides` are by default the kernel's sizes, so that windows do not overlap. */
export interface PoolOptions extends WindowOptions {
  /** Whether the last window may go beyond the padding, if it begins before the end of x; default false. */
  readonly ceilMode?: boolean;
}

export interface AveragePoolOptions extends PoolOptions {
  /** Whether padding counts in the divisor; default false. */
  readonly countIncludePad?: boolean;
}

const POOL: OptionNames<PoolOptions> = {
  strides: true,
  pads: true,
  dilations: true,
  autoPad: true,
  ceilMode: true,
};
const AVERAGE: OptionNames<AveragePoolOptions> = { ...POOL, countIncludePad: true };

/** The shape of a window: a size per spatial axis, or one size for all of them. */
export type PoolKernel = number | readonly number[];

function readPool(op: Op, x: Tensor, kernel: PoolKernel, options: PoolOptions): PoolingWindow {
  const { shape } = asTensor(x, op);
  const sizes = shape.slice(2);
  if (sizes.length === 0) throw shapeMismatch(`${op}: x must be [N, C, d…], got ${formatShape(shape)}`);
  const kernelShape = alongAxes(op, "kernel", kernel, sizes.length);
  const { ceilMode = false } = options;
  return { kernelShape, ...readWindow(op, sizes, kernelShape, options, kernelShape), ceilMode };
}

/**
 * The largest element of each window. NaN propagates. Of equal elements, the first in row-major order gets the
 * gradient.
 * @throws MP_SHAPE_MISMATCH for a window that does not fit, MP_INVALID_ARGUMENT for invalid window options
 */
export function maxPool(x: Tensor, kernel: PoolKernel, options: PoolOptions = {}): Tensor {
  checkOptions("MaxPool", options, POOL, "{ strides: 2 }");
  return emit("MaxPool", [x], readPool("MaxPool", x, kernel, options));
}

/** The mean of each window, summed in f32. @throws as `maxPool` */
export function averagePool(x: Tensor, kernel: PoolKernel, options: AveragePoolOptions = {}): Tensor {
  checkOptions("AveragePool", options, AVERAGE, "{ strides: 2 }");
  const { countIncludePad = false, ...window } = options;
  return emit("AveragePool", [x], { ...readPool("AveragePool", x, kernel, window), countIncludePad });
}

function spatialAxes(what: string, x: Tensor): readonly number[] {
  const { shape } = asTensor(x, what);
  if (shape.length < 3) throw shapeMismatch(`${what}: x must be [N, C, d…], got ${formatShape(shape)}`);
  return shape.flatMap((_, axis) => (axis < 2 ? [] : [axis]));
}

export interface GlobalPoolOptions {
  /** Whether to keep the spatial axes as 1, as ONNX does; default false, as for reductions and in Keras. */
  readonly keepdims?: boolean;
}

const GLOBAL: OptionNames<GlobalPoolOptions> = { keepdims: true };

/**
 * The mean of each channel of each example, x [N, C, d…] to [N, C], computed by ReduceMean in f32 under any policy.
 * @throws MP_SHAPE_MISMATCH for a tensor without spatial axes
 */
export function globalAveragePool(x: Tensor, options: GlobalPoolOptions = {}): Tensor {
  checkOptions("globalAveragePool", options, GLOBAL, "{ keepdims: true }");
  return reduceMean(x, { ...options, axes: spatialAxes("globalAveragePool", x) });
}

/**
 * The largest element of each channel of each example, x [N, C, d…] to [N, C], computed by ReduceMax, so that equal
 * elements share the gradient. @throws as `globalAveragePool`
 */
export function globalMaxPool(x: Tensor, options: GlobalPoolOptions = {}): Tensor {
  checkOptions("globalMaxPool", options, GLOBAL, "{ keepdims: true }");
  return reduceMax(x, { ...options, axes: spatialAxes("globalMaxPool", x) });
}
