/** Dilates filters [k…, channels, results], for engine kernels that have no dilations. */
import { type Shape, windowExtent } from "@mp/graph";
import type { Term } from "../graph/term.js";

/** The spatial sizes of a dilated filter. */
export function extent(kernel: Shape, dilations: readonly number[]): Shape {
  return kernel.map((size, axis) => windowExtent(size, dilations[axis] ?? 1));
}

/** Dilates a filter: inserts zeros between its taps. */
export function spread(filter: Term, dilations: readonly number[]): Term {
  return dilations.reduce((taps, dilation, axis) => {
    const size = taps.shape[axis] ?? 1;
    if (dilation === 1 || size === 1) return taps;
    const [front, back] = [taps.shape.slice(0, axis), taps.shape.slice(axis + 1)];
    const column = taps.reshape([...front, size, 1, ...back]);
    const widths = column.shape.map((_, place) => [0, place === axis + 1 ? dilation - 1 : 0] as const);
    const whole = column.pad(widths, 0).reshape([...front, size * dilation, ...back]);
    const kept = [...front, windowExtent(size, dilation), ...back];
    return whole.slice(
      kept.map(() => 0),
      kept,
    );
  }, filter);
}

/** Takes the taps out of a dilated filter; undoes `spread`. */
export function takeTaps(filter: Term, dilations: readonly number[]): Term {
  const { shape } = filter;
  if (dilations.every((dilation) => dilation === 1)) return filter;
  const steps = shape.map((_, axis) => dilations[axis] ?? 1);
  const taps = shape.map((size, axis) => Math.ceil(size / (steps[axis] ?? 1)));
  return filter.stridedSlice([shape.map(() => 0), shape, steps], taps);
}
