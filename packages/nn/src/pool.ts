import {
  averagePool as averageWindows,
  type PoolOptions as CorePoolOptions,
  checkOptions,
  MpError,
  maxPool as maxWindows,
  scope,
  shown,
  type Tensor,
} from "@mp/core";
import { checkIntegers } from "./check-size.js";
import type { Layer, Nothing } from "./layer.js";
import { axesOf, checkWindow, coreWindow, WINDOW, type WindowOptions } from "./window-options.js";

/** Strides are the window's sizes unless given, so that windows do not overlap. */
export interface PoolOptions extends WindowOptions {
  /** Lets a last window reach beyond the end; default false. */
  readonly ceilMode?: boolean;
}

export interface AveragePoolOptions extends PoolOptions {
  /** Whether zeros of the padding count as elements; default false. */
  readonly countIncludePad?: boolean;
}

const POOL = { ...WINDOW, ceilMode: true } as const;
const AVERAGE = { ...POOL, countIncludePad: true } as const;

/**
 * The largest element of each window, channels first, over the axes behind them: one number is a size along all of
 * these, so that `maxPool(2)` halves lines, planes and volumes. Of equals the first takes the gradient.
 * @throws MP_INVALID_ARGUMENT for sizes below 1 or options that there are not
 */
export function maxPool(size: number | readonly number[], options: PoolOptions = {}): Layer<Nothing> {
  checkOptions("maxPool", options, POOL, "{ stride: 2 }");
  return layerOf("maxPool", size, options, maxWindows);
}

/** The mean of each window, summed in f32. @throws as `maxPool` */
export function averagePool(
  size: number | readonly number[],
  options: AveragePoolOptions = {},
): Layer<Nothing> {
  checkOptions("averagePool", options, AVERAGE, "{ stride: 2 }");
  const { countIncludePad = false } = options;
  checkFlag("averagePool", "countIncludePad", countIncludePad);
  return layerOf("averagePool", size, options, (x, kernel, window) =>
    averageWindows(x, kernel, { ...window, countIncludePad }),
  );
}

function layerOf(
  name: string,
  size: number | readonly number[],
  options: PoolOptions,
  pool: (x: Tensor, kernel: number | readonly number[], window: CorePoolOptions) => Tensor,
): Layer<Nothing> {
  const axes = axesOf(size);
  checkIntegers(name, "the window's size", size, 1, ...axes);
  checkWindow(name, options, axes);
  const { ceilMode = false } = options;
  checkFlag(name, "ceilMode", ceilMode);
  return {
    name,
    init: () => ({}),
    apply: (_, x) => scope(name, () => pool(x, size, { ...coreWindow(options, size), ceilMode })),
  };
}

function checkFlag(layer: string, name: string, given: unknown): void {
  if (typeof given === "boolean") return;
  throw new MpError("MP_INVALID_ARGUMENT", `${layer}: ${name} is true or false, got ${shown(given)}`);
}
