// The positions of pooling windows. Only this module knows what `ceilMode` and `countIncludePad` mean. Inference, the
// reference, gradients and backends get windows without them.
import type { Shape } from "../shape.js";
import type { PoolingWindow } from "./attributes.js";
import { windowExtent } from "./window.js";

interface AxisWindow {
  readonly size: number;
  readonly kernel: number;
  readonly stride: number;
  readonly begin: number;
  readonly end: number;
  readonly dilation: number;
  /** Distance from the first tap to the last, both included. */
  readonly reach: number;
}

function axisWindows(
  spatial: Shape,
  { kernelShape, strides, pads, dilations }: PoolingWindow,
): readonly AxisWindow[] {
  return spatial.map((size, axis) => {
    const [kernel = 1, stride = 1, dilation = 1] = [kernelShape[axis], strides[axis], dilations[axis]];
    const [begin = 0, end = 0] = [pads[axis], pads[spatial.length + axis]];
    return { size, kernel, stride, begin, end, dilation, reach: windowExtent(kernel, dilation) };
  });
}

function countOutputs({ size, stride, begin, end, reach }: AxisWindow, ceilMode: boolean): number {
  const steps = (size + begin + end - reach) / stride;
  if (steps < 0) return 0;
  const outputs = (ceilMode ? Math.ceil(steps) : Math.floor(steps)) + 1;
  // A window that begins in the padding at the end does not count.
  return ceilMode && (outputs - 1) * stride >= size + begin ? outputs - 1 : outputs;
}

/** Spatial sizes of the result of pooling; 0 where no window fits. */
export function poolSizes(spatial: Shape, window: PoolingWindow): Shape {
  return axisWindows(spatial, window).map((axis) => countOutputs(axis, window.ceilMode));
}

/** The same windows without `ceilMode`; the part of a window beyond the end becomes padding. */
export function withoutCeiling<W extends PoolingWindow>(spatial: Shape, window: W): W {
  if (!window.ceilMode) return window;
  const axes = axisWindows(spatial, window);
  const ends = axes.map((axis) => {
    const covered = (countOutputs(axis, true) - 1) * axis.stride + axis.reach - axis.begin;
    return Math.max(0, covered - axis.size);
  });
  return { ...window, ceilMode: false, pads: [...window.pads.slice(0, spatial.length), ...ends] };
}

interface Taps {
  /** Index of the first tap that is inside the axis. */
  readonly first: number;
  readonly count: number;
}

/** The taps of a window that are inside the axis, computed without a loop. */
function tapsInside({ size, kernel, stride, begin, dilation }: AxisWindow, at: number): Taps {
  const start = at * stride - begin;
  const outside = start < 0 ? Math.ceil(-start / dilation) : 0;
  const first = start + outside * dilation;
  const count = Math.min(kernel - outside, Math.ceil((size - first) / dilation));
  return { first, count: Math.max(0, count) };
}

/** Whether a window has no tap inside its axis. Only windows that begin in the padding can have none. */
export function hasEmptyWindow(spatial: Shape, window: PoolingWindow): boolean {
  return axisWindows(spatial, window).some((axis) => {
    const isEmpty = (at: number): boolean => tapsInside(axis, at).count === 0;
    const last = countOutputs(axis, window.ceilMode) - 1;
    for (let at = 0; at <= last && at * axis.stride < axis.begin; at++) if (isEmpty(at)) return true;
    for (let at = last; at >= 0 && at * axis.stride - axis.begin >= axis.size; at--)
      if (isEmpty(at)) return true;
    return false;
  });
}

function mapWindows<T>(axis: AxisWindow, ceilMode: boolean, of: (at: number) => T): readonly T[] {
  return Array.from({ length: countOutputs(axis, ceilMode) }, (_, at) => of(at));
}

/** Indices of the taps that are inside the axis, for each axis and each of its windows. */
export function tapsOf(spatial: Shape, window: PoolingWindow): readonly (readonly (readonly number[])[])[] {
  return axisWindows(spatial, window).map((axis) =>
    mapWindows(axis, window.ceilMode, (at) => {
      const { first, count } = tapsInside(axis, at);
      return Array.from({ length: count }, (_, tap) => first + tap * axis.dilation);
    }),
  );
}

/** Number of taps that AveragePool divides by, for each axis and each of its windows. */
export function tapCounts(
  spatial: Shape,
  window: PoolingWindow & { readonly countIncludePad: boolean },
): readonly (readonly number[])[] {
  return axisWindows(spatial, window).map((axis) =>
    mapWindows(axis, window.ceilMode, (at) => {
      if (!window.countIncludePad) return tapsInside(axis, at).count;
      const start = at * axis.stride - axis.begin;
      return Math.min(axis.kernel, Math.ceil((axis.size + axis.end - start) / axis.dilation));
    }),
  );
}
