import {
  averagePool as averageWindows,
  type PoolOptions as CorePoolOptions,
  checkOptions,
  MpError,
  maxPool as maxWindows,
  reduceMean,
  scope,
  type Tensor,
} from "@mp/core";
import { checkSizes } from "./check-size.js";
import type { Layer, Nothing } from "./layer.js";

export interface PoolOptions {
  /** Along each axis, a number for all of them; default the window's size, so that windows do not overlap. */
  readonly stride?: number | readonly number[];
  /**
   * `same`: as many windows as the input over the stride has elements; `valid` (default): none. A number for all sides,
   * one for each axis, or all begins and then all ends.
   */
  readonly padding?: "same" | "valid" | number | readonly number[];
  /** Distance between the taps of a window; default 1. */
  readonly dilation?: number | readonly number[];
  /** Lets a last window reach beyond the end; default false. */
  readonly ceilMode?: boolean;
}

export interface AveragePoolOptions extends PoolOptions {
  /** Whether zeros of the padding count as elements; default false. */
  readonly countIncludePad?: boolean;
}

const POOL = { stride: true, padding: true, dilation: true, ceilMode: true } as const;
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
  return layerOf("averagePool", size, options, (x, kernel, window) =>
    averageWindows(x, kernel, { ...window, countIncludePad }),
  );
}

/**
 * The mean of each channel over all that is behind it: [batch, channels, d…] to [batch, channels], in f32 whatever the
 * policy. A function, for `sequential` as it is. @throws MP_SHAPE_MISMATCH for a tensor without axes behind the channels
 */
export function globalAveragePool(x: Tensor): Tensor {
  if (x.shape.length < 3) {
    const got = `[${x.shape.join(", ")}]`;
    throw new MpError("MP_SHAPE_MISMATCH", `globalAveragePool: takes [batch, channels, d…], got ${got}`);
  }
  return scope("globalAveragePool", () => reduceMean(x, { axes: x.shape.map((_, axis) => axis).slice(2) }));
}

function layerOf(
  name: string,
  size: number | readonly number[],
  options: PoolOptions,
  pool: (x: Tensor, kernel: number | readonly number[], window: CorePoolOptions) => Tensor,
): Layer<Nothing> {
  for (const length of typeof size === "number" ? [size] : size)
    checkSizes(name, { "the window's size": length });
  const { stride = size, padding = "valid", dilation = 1, ceilMode = false } = options;
  if (typeof padding === "string" && padding !== "same" && padding !== "valid") {
    const got = JSON.stringify(padding);
    throw new MpError("MP_INVALID_ARGUMENT", `${name}: padding is "same", "valid" or numbers, got ${got}`);
  }
  const padsOf = (x: Tensor): number | readonly number[] => {
    if (padding === "valid") return 0;
    return padding === "same" ? samePads(x.shape.slice(2), { size, stride, dilation }) : padding;
  };
  return {
    name,
    init: () => ({}),
    apply: (_, x) =>
      scope(name, () => pool(x, size, { strides: stride, pads: padsOf(x), dilations: dilation, ceilMode })),
  };
}

/** What is left over goes to the end, as in TensorFlow and in our convolutions. */
function samePads(
  spatial: readonly number[],
  window: Readonly<Record<"size" | "stride" | "dilation", number | readonly number[]>>,
): readonly number[] {
  const along = (numbers: number | readonly number[], axis: number): number =>
    typeof numbers === "number" ? numbers : (numbers[axis] ?? 1);
  const totals = spatial.map((length, axis) => {
    const stride = along(window.stride, axis);
    const reach = (along(window.size, axis) - 1) * along(window.dilation, axis) + 1;
    return Math.max(0, (Math.ceil(length / stride) - 1) * stride + reach - length);
  });
  const before = totals.map((total) => Math.floor(total / 2));
  return [...before, ...totals.map((total, axis) => total - (before[axis] ?? 0))];
}
