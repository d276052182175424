/** The options that convolutions and pools share, checked when the layer is made and converted to core's. */

import type { WindowOptions as CoreWindowOptions } from "@mp/core/ops";
import { checks } from "@mp/graph/internal";
import { integers } from "./option-kinds.js";

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

/** The numbers of axes that a size fits: the length of a list, or 1 to 3 for one number. */
export const possibleAxes = (size: number | readonly number[]): readonly number[] =>
  Array.isArray(size) ? [Math.max(1, size.length)] : [1, 2, 3];

/** Checks of the window options of a layer over any of these numbers of axes. */
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
