import { scope, type Tensor } from "@mp/core";
import { averagePool, maxPool } from "@mp/core/ops";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import type { Layer, Nothing } from "./layer.js";
import { integers } from "./option-kinds.js";
import { coreWindow, possibleAxes, type WindowOptions, windowTable } from "./window-options.js";

/** Options of pooling layers. The stride is the window's size by default, so that windows do not overlap. */
export interface PoolingOptions extends WindowOptions {
  /** Whether the last window may extend beyond the end of the axis; default false. */
  readonly ceilMode?: boolean;
}

export interface AveragePoolingOptions extends PoolingOptions {
  /** Whether padding counts in the divisor of the mean; default false. */
  readonly countIncludePad?: boolean;
}

const POOL = { ceilMode: withDefault(false, checks.truth) };
const AVERAGE = { ...POOL, countIncludePad: withDefault(false, checks.truth) };
const EXAMPLE = { example: "{ stride: 2 }" };

/**
 * The largest element of each window over the spatial axes, channels first. A single number is the size along
 * all axes: `maxPooling(2)` halves 1-D, 2-D and 3-D inputs. Of equal elements, the first gets the gradient.
 * @throws MP_INVALID_ARGUMENT for sizes below 1 or unknown options
 */
export function maxPooling(size: number | readonly number[], options: PoolingOptions = {}): Layer<Nothing> {
  const table = { ...windowTable(windowAxes("maxPooling", size)), ...POOL };
  const { ceilMode } = readOptions("maxPooling", options, table, EXAMPLE);
  return poolingLayer("maxPool", (x) => maxPool(x, size, { ...coreWindow(options, size), ceilMode }));
}

/** The mean of each window, summed in f32. @throws as `maxPooling` */
export function averagePooling(
  size: number | readonly number[],
  options: AveragePoolingOptions = {},
): Layer<Nothing> {
  const table = { ...windowTable(windowAxes("averagePooling", size)), ...AVERAGE };
  const { ceilMode, countIncludePad } = readOptions("averagePooling", options, table, EXAMPLE);
  return poolingLayer("averagePool", (x) =>
    averagePool(x, size, { ...coreWindow(options, size), ceilMode, countIncludePad }),
  );
}

/** The numbers of spatial axes that a window size allows. @throws MP_INVALID_ARGUMENT for an invalid size */
function windowAxes(name: string, size: number | readonly number[]): readonly number[] {
  const axes = possibleAxes(size);
  integers(1, ...axes)(`${name}: the window's size`, size);
  return axes;
}

const poolingLayer = (name: string, pool: (x: Tensor) => Tensor): Layer<Nothing> => ({
  name,
  init: () => ({}),
  apply: (_, x) => scope(name, () => pool(x)),
});
