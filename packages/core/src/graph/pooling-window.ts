// Where the windows of a pool lie: the one place that knows what `ceilMode` and `countIncludePad` mean, for inference,
// the oracle, the gradients and backends, which get windows that need neither.
import type { Shape } from "../shape.js";
import type { PoolingWindow } from "./attributes.js";

/** One axis of a pool. */
interface AxisWindow {
  readonly size: number;
  readonly kernel: number;
  readonly stride: number;
  readonly begin: number;
  readonly end: number;
  readonly dilation: number;
  /** From the first tap to the last. */
  readonly reach: number;
}

function axesOf(
  spatial: Shape,
  { kernelShape, strides, pads, dilations }: PoolingWindow,
): readonly AxisWindow[] {
  return spatial.map((size, axis) => {
    const [kernel = 1, stride = 1, dilation = 1] = [kernelShape[axis], strides[axis], dilations[axis]];
    const [begin = 0, end = 0] = [pads[axis], pads[spatial.length + axis]];
    return { size, kernel, stride, begin, end, dilation, reach: (kernel - 1) * dilation + 1 };
  });
}

function outputsOf({ size, stride, begin, end, reach }: AxisWindow, ceilMode: boolean): number {
  const steps = (size + begin + end - reach) / stride;
  if (steps < 0) return 0;
  const outputs = (ceilMode ? Math.ceil(steps) : Math.floor(steps)) + 1;
  // A window that begins in the padding at the end is none.
  return ceilMode && (outputs - 1) * stride >= size + begin ? outputs - 1 : outputs;
}

/** Sizes behind the channels of what a pool over axes of those sizes gives; 0 where no window fits. */
export function pooledSizes(spatial: Shape, window: PoolingWindow): Shape {
  return axesOf(spatial, window).map((axis) => outputsOf(axis, window.ceilMode));
}

/** The same windows without `ceilMode`: what it adds at the ends has become padding. */
export function withoutCeiling<W extends PoolingWindow>(spatial: Shape, window: W): W {
  if (!window.ceilMode) return window;
  const axes = axesOf(spatial, window);
  const ends = axes.map((axis) => {
    const covered = (outputsOf(axis, true) - 1) * axis.stride + axis.reach - axis.begin;
    return Math.max(0, covered - axis.size);
  });
  return { ...window, ceilMode: false, pads: [...window.pads.slice(0, spatial.length), ...ends] };
}

/** For each axis and each of its windows, where the taps lie that are inside. */
export function tapsOf(spatial: Shape, window: PoolingWindow): readonly (readonly (readonly number[])[])[] {
  return axesOf(spatial, window).map((axis) => {
    const windows = Array.from(
      { length: outputsOf(axis, window.ceilMode) },
      (_, at) => at * axis.stride - axis.begin,
    );
    return windows.map((start) =>
      Array.from({ length: axis.kernel }, (_, tap) => start + tap * axis.dilation).filter(
        (place) => place >= 0 && place < axis.size,
      ),
    );
  });
}

/** For each axis and each of its windows, how many taps AveragePool divides by. */
export function tapCounts(
  spatial: Shape,
  window: PoolingWindow & { readonly countIncludePad: boolean },
): readonly (readonly number[])[] {
  if (!window.countIncludePad) return tapsOf(spatial, window).map((axis) => axis.map((taps) => taps.length));
  return axesOf(spatial, window).map((axis) =>
    Array.from({ length: outputsOf(axis, window.ceilMode) }, (_, at) => {
      const start = at * axis.stride - axis.begin;
      return Math.min(axis.kernel, Math.ceil((axis.size + axis.end - start) / axis.dilation));
    }),
  );
}
