import { MpError, scope, type Tensor } from "@mp/core";
import { checkOptions, shown } from "@mp/core/internal";
import { averagePool, maxPool, type PoolOptions } from "@mp/core/ops";
import { checkIntegers } from "./check-size.js";
import type { Layer, Nothing } from "./layer.js";
import { axesOf, checkWindow, coreWindow, WINDOW, type WindowOptions } from "./window-options.js";

/** Strides default to the window's sizes, so that windows do not overlap. */
export interface PoolingOptions extends WindowOptions {
  /** Lets the last window extend beyond the end; default false. */
  readonly ceilMode?: boolean;
}

export interface AveragePoolingOptions extends PoolingOptions {
  /** Whether padding counts in the divisor; default false. */
  readonly countIncludePad?: boolean;
}

const POOL = { ...WINDOW, ceilMode: true } as const;
const AVERAGE = { ...POOL, countIncludePad: true } as const;

/**
 * The largest element of each window, channels first, over the spatial axes: one number is the size along all of them,
 * so that `maxPooling(2)` halves 1-D, 2-D and 3-D inputs. Of equal elements the first gets the gradient.
 * @throws MP_INVALID_ARGUMENT for sizes below 1 or unknown options
 */
export function maxPooling(size: number | readonly number[], options: PoolingOptions = {}): Layer<Nothing> {
  checkOptions("maxPooling", options, POOL, "{ stride: 2 }");
  return layerOf("maxPooling", size, options, maxPool);
}

/** The mean of each window, summed in f32. @throws as `maxPooling` */
export function averagePooling(
  size: number | readonly number[],
  options: AveragePoolingOptions = {},
): Layer<Nothing> {
  checkOptions("averagePooling", options, AVERAGE, "{ stride: 2 }");
  const { countIncludePad = false } = options;
  checkFlag("averagePooling", "countIncludePad", countIncludePad);
  return layerOf("averagePooling", size, options, (x, kernel, window) =>
    averagePool(x, kernel, { ...window, countIncludePad }),
  );
}

/** What the operators of a layer are under, in policies and printed graphs. */
const SCOPES = { maxPooling: "maxPool", averagePooling: "averagePool" } as const;

function layerOf(
  name: keyof typeof SCOPES,
  size: number | readonly number[],
  options: PoolingOptions,
  pool: (x: Tensor, kernel: number | readonly number[], window: PoolOptions) => Tensor,
): Layer<Nothing> {
  const axes = axesOf(size);
  checkIntegers(name, "the window's size", size, 1, ...axes);
  checkWindow(name, options, axes);
  const { ceilMode = false } = options;
  checkFlag(name, "ceilMode", ceilMode);
  return {
    name: SCOPES[name],
    init: () => ({}),
    apply: (_, x) => scope(SCOPES[name], () => pool(x, size, { ...coreWindow(options, size), ceilMode })),
  };
}

function checkFlag(layer: string, name: string, given: unknown): void {
  if (typeof given === "boolean") return;
  throw new MpError("MP_INVALID_ARGUMENT", `${layer}: ${name} is true or false, got ${shown(given)}`);
}
