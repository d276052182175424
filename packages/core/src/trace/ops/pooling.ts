/** Pools over the axes behind the channels of x [N, C, d…], in one to three dimensions and more. */
import { MpError } from "../../errors.js";
import type { Op, PoolingWindow } from "../../graph/attributes.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { formatShape } from "../../shape.js";
import { asTensor, emit } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { reduceMax, reduceMean } from "./reduce.js";

export interface PoolOptions {
  /** One number an axis, or one for all; default the kernel's size, so that windows do not overlap. */
  readonly strides?: number | readonly number[];
  /** Padding of each axis on both sides, one for all, or all begins and then all ends; default 0. */
  readonly pads?: number | readonly number[];
  /** Distance between the taps of a window; default 1. */
  readonly dilations?: number | readonly number[];
  /** Lets a last window reach beyond the end, unless it begins there; default false. */
  readonly ceilMode?: boolean;
}

export interface AveragePoolOptions extends PoolOptions {
  /** Whether zeros of the padding count as elements of a window; default false. */
  readonly countIncludePad?: boolean;
}

const POOL: OptionNames<PoolOptions> = { strides: true, pads: true, dilations: true, ceilMode: true };
const AVERAGE: OptionNames<AveragePoolOptions> = { ...POOL, countIncludePad: true };

/** The shape of a window, for each axis behind the channels, or one size for all of them. */
export type PoolKernel = number | readonly number[];

function windowOf(op: Op, x: Tensor, kernel: PoolKernel, options: PoolOptions): PoolingWindow {
  const { shape } = asTensor(x, op);
  const rank = shape.length - 2;
  if (rank < 1) throw new MpError("MP_SHAPE_MISMATCH", `${op}: x is [N, C, d…], got ${formatShape(shape)}`);
  const each = (numbers: number | readonly number[]): readonly number[] =>
    typeof numbers === "number" ? Array.from({ length: rank }, () => numbers) : numbers;
  const kernelShape = each(kernel);
  const pads = each(options.pads ?? 0);
  return {
    kernelShape,
    strides: each(options.strides ?? kernelShape),
    pads: pads.length === rank ? [...pads, ...pads] : pads,
    dilations: each(options.dilations ?? 1),
    ceilMode: options.ceilMode ?? false,
  };
}

/**
 * The largest element of each window. NaN comes through; of equals the first, in row-major order, takes the gradient.
 * @throws MP_SHAPE_MISMATCH for a window that does not fit, MP_INVALID_ARGUMENT for numbers that make none
 */
export function maxPool(x: Tensor, kernel: PoolKernel, options: PoolOptions = {}): Tensor {
  checkOptions("MaxPool", options, POOL, "{ strides: 2 }");
  return emit("MaxPool", [x], windowOf("MaxPool", x, kernel, options));
}

/** The mean of each window, summed in f32. @throws as `maxPool` */
export function averagePool(x: Tensor, kernel: PoolKernel, options: AveragePoolOptions = {}): Tensor {
  checkOptions("AveragePool", options, AVERAGE, "{ strides: 2 }");
  const window = windowOf("AveragePool", x, kernel, options);
  return emit("AveragePool", [x], { ...window, countIncludePad: options.countIncludePad ?? false });
}

function spatialAxes(what: string, x: Tensor): readonly number[] {
  const { shape } = asTensor(x, what);
  if (shape.length < 3)
    throw new MpError("MP_SHAPE_MISMATCH", `${what}: x is [N, C, d…], got ${formatShape(shape)}`);
  return shape.flatMap((_, axis) => (axis < 2 ? [] : [axis]));
}

/** The mean of each channel of each example, [N, C, 1…]: ReduceMean, which casting policies keep in f32. */
export function globalAveragePool(x: Tensor): Tensor {
  return reduceMean(x, { axes: spatialAxes("globalAveragePool", x), keepdims: true });
}

/** The largest element of each channel of each example, [N, C, 1…]: ReduceMax, whose gradient equals share. */
export function globalMaxPool(x: Tensor): Tensor {
  return reduceMax(x, { axes: spatialAxes("globalMaxPool", x), keepdims: true });
}
