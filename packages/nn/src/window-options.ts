/** Options shared by convolutions and pools, checked when the layer is made and converted to options of core. */

import type { WindowOptions as CoreWindowOptions } from "@mp/core/ops";
import { checks } from "@mp/graph/internal";
import { integers } from "./option-kinds.js";

export interface WindowOptions {
  /** Distance between windows: one number per axis, or one for all axes. */
  readonly stride?: number | readonly number[];
  /**
   * `same`: ⌈size / stride⌉ results; `valid` (default): no padding. Otherwise the number of elements: one for
   * all ends, one per axis, or all begins and then all ends.
   */
  readonly padding?: "same" | "valid" | number | readonly number[];
  /** Distance between the taps of a kernel; default 1. */
  readonly dilation?: number | readonly number[];
}

/** The numbers of axes for which a size is valid: the length of a list, or 1 to 3 for a single number. */
export const possibleAxes = (size: number | readonly number[]): readonly number[] =>
  Array.isArray(size) ? [Math.max(1, size.length)] : [1, 2, 3];

/** Makes the checks of the window options for a layer that may have these numbers of spatial axes. */
export function windowTable(axes: readonly number[]): {
  readonly [K in keyof Required<WindowOptions>]: checks.Check;
} {
  const sides = new Set(axes.flatMap((count) => [count, 2 * count]));
  const numbers = integers(0, ...[...sides].sort((a, b) => a - b));
  const words = checks.claim('"same", "valid" or numbers', (value) => value === "same" || value === "valid");
  return {
    stride: checks.optional(integers(1, ...axes)),
    padding: checks.optional((what, value) =>
      (typeof value === "number" || Array.isArray(value) ? numbers : words)(what, value),
    ),
    dilation: checks.optional(integers(1, ...axes)),
  };
}

/** Converts the options to those of core's functions. */
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
