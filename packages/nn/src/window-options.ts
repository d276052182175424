/** The options that convolutions and pools share, checked when the layer is made and converted to core's. */
import { MpError } from "@mp/core";
import { shown } from "@mp/core/internal";
import type { WindowOptions as CoreWindowOptions } from "@mp/core/ops";
import { checkIntegers } from "./check-size.js";

export interface WindowOptions {
  /** One number per axis, or one for all of them. */
  readonly stride?: number | readonly number[];
  /**
   * `same`: ⌈size / stride⌉ results; `valid` (default): no padding. A number for all sides, one for each axis, or all
   * begins and then all ends.
   */
  readonly padding?: "same" | "valid" | number | readonly number[];
  /** Distance between the taps; default 1. */
  readonly dilation?: number | readonly number[];
}

export const WINDOW = { stride: true, padding: true, dilation: true } as const;

/** How many axes a layer of that size may be over: all of them if one number is given for each. */
export const axesOf = (size: number | readonly number[]): readonly number[] =>
  Array.isArray(size) ? [Math.max(1, size.length)] : [1, 2, 3];

/** @throws MP_INVALID_ARGUMENT for invalid sizes, naming them */
export function checkWindow(
  layer: string,
  { stride = 1, padding = "valid", dilation = 1 }: WindowOptions,
  axes: readonly number[],
): void {
  checkIntegers(layer, "stride", stride, 1, ...axes);
  checkIntegers(layer, "dilation", dilation, 1, ...axes);
  if (padding === "same" || padding === "valid") return;
  if (typeof padding === "number" || Array.isArray(padding)) {
    const counts = new Set(axes.flatMap((count) => [count, 2 * count]));
    checkIntegers(layer, "padding", padding, 0, ...[...counts].sort((a, b) => a - b));
    return;
  }
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `${layer}: padding is "same", "valid" or numbers, got ${shown(padding)}`,
  );
}

/** The options as core's functions take them. */
export function coreWindow(
  { stride, padding = "valid", dilation = 1 }: WindowOptions,
  defaultStride: number | readonly number[],
): CoreWindowOptions {
  return {
    strides: stride ?? defaultStride,
    dilations: dilation,
    ...(padding === "same" || padding === "valid" ? { autoPad: padding } : { pads: padding }),
  };
}
