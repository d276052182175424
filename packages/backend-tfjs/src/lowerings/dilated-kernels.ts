/** Dilated kernels [k…, channels, results], for engine kernels without dilation. */
import type { DType, Shape } from "@mp/core";
import { windowExtent } from "@mp/core/graph";
import type { TfWriter } from "../graph/tf-writer.js";
import { cut, padded, reshape, strideAttributes } from "./lowering.js";

/** The size from the first tap to the last. */
export function extentOf(kernel: Shape, dilations: readonly number[]): Shape {
  return kernel.map((size, axis) => windowExtent(size, dilations[axis] ?? 1));
}

/** Puts zeros between the taps. */
export function spread(
  filter: string,
  dtype: DType,
  shape: Shape,
  dilations: readonly number[],
  writer: TfWriter,
): string {
  let name = filter;
  let sizes = shape;
  dilations.forEach((dilation, axis) => {
    if (dilation === 1 || sizes[axis] === 1) return;
    const [front, back] = [sizes.slice(0, axis), sizes.slice(axis + 1)];
    const size = sizes[axis] ?? 1;
    const apart = [...front, size, 1, ...back];
    const column = reshape(name, dtype, sizes, apart, writer);
    const widths = apart.map((_, place) => [0, place === axis + 1 ? dilation - 1 : 0] as const);
    const filled = padded(column, dtype, widths, 0, writer);
    const joined = [...front, size * dilation, ...back];
    const whole = reshape(filled, dtype, [...front, size, dilation, ...back], joined, writer);
    sizes = [...front, windowExtent(size, dilation), ...back];
    name = cut(
      whole,
      dtype,
      sizes.map(() => 0),
      sizes,
      writer,
    );
  });
  return name;
}

/** Takes the taps out again. */
export function gathered(
  filter: string,
  dtype: DType,
  spreadShape: Shape,
  dilations: readonly number[],
  writer: TfWriter,
): string {
  if (dilations.every((dilation) => dilation === 1)) return filter;
  const steps = spreadShape.map((_, axis) => dilations[axis] ?? 1);
  const bounds = [spreadShape.map(() => 0), spreadShape, steps].map((list) => writer.ints(list));
  return writer.one("StridedSlice", [filter, ...bounds], strideAttributes(dtype));
}
