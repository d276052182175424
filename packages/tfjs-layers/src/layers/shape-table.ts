// Layers that only change the shape: reshapes, margins, repetitions.
import type { Tensor } from "@mp/graph";
import { expand, pad, reshape, slice, transpose, unsqueeze } from "@mp/graph/ops";
import { type LayerKind, unary } from "../plan.js";
import { channelsFirst, readDataFormat, spatialAxes } from "./channels.js";

const zeroPadding = (axes: number): LayerKind =>
  unary(
    (settings) => ({ margins: settings.margins("padding", axes), format: readDataFormat(settings) }),
    (x, { margins, format }) => {
      const padded = spatialAxes(x, format);
      return pad(
        x,
        x.shape.map((_, axis) => margins[padded.indexOf(axis)] ?? ([0, 0] as const)),
      );
    },
  );

const cropping = (axes: number): LayerKind =>
  unary(
    (settings) => ({ margins: settings.margins("cropping", axes), format: readDataFormat(settings) }),
    (x, { margins, format }) => {
      const ranges = spatialAxes(x, format).map((axis, at) => {
        const [before, after] = margins[at] ?? [0, 0];
        return { axis, start: before, end: (x.shape[axis] ?? 0) - after };
      });
      return slice(x, ranges);
    },
  );

/** Repeats each element along an axis, as NumPy's `repeat` does. */
function repeat(x: Tensor, axis: number, times: number): Tensor {
  if (times === 1) return x;
  const [before, after] = [x.shape.slice(0, axis + 1), x.shape.slice(axis + 1)];
  const copies = expand(unsqueeze(x, [axis + 1]), [...before, times, ...after]);
  return reshape(copies, [...x.shape.slice(0, axis), (x.shape[axis] ?? 1) * times, ...after]);
}

const upSampling = (axes: number): LayerKind =>
  unary(
    (settings) => {
      settings.expect("interpolation", "nearest");
      return { times: settings.numbers("size", axes, 2), format: readDataFormat(settings) };
    },
    (x, { times, format }) =>
      channelsFirst(x, format, (first) =>
        times.reduce((y, factor, axis) => repeat(y, axis + 2, factor), first),
      ),
  );

export const SHAPE_LAYERS: Readonly<Record<string, LayerKind>> = {
  Flatten: unary(readDataFormat, (x, format) => {
    const order = [0, ...x.shape.map((_, axis) => axis).slice(2), 1];
    const last = format === "channels_first" && x.shape.length > 2 ? transpose(x, order) : x;
    return reshape(last, [x.shape[0] ?? 1, -1]);
  }),
  Reshape: unary(
    (settings) => settings.list("target_shape"),
    (x, target) => reshape(x, [x.shape[0] ?? 1, ...target]),
  ),
  Permute: unary(
    (settings) => settings.list("dims"),
    (x, order) => transpose(x, [0, ...order]),
  ),
  RepeatVector: unary(
    (settings) => settings.number("n"),
    (x, count) => expand(unsqueeze(x, [1]), [x.shape[0] ?? 1, count, ...x.shape.slice(1)]),
  ),
  ZeroPadding1D: zeroPadding(1),
  ZeroPadding2D: zeroPadding(2),
  Cropping1D: cropping(1),
  Cropping2D: cropping(2),
  UpSampling1D: upSampling(1),
  UpSampling2D: upSampling(2),
};
