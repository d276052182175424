// Layers that change the shape alone: reshapes, margins, repetitions.
import type { Tensor } from "@mp/graph";
import { expand, pad, reshape, slice, transpose, unsqueeze } from "@mp/graph/ops";
import { type LayerKind, plain } from "../plan.js";
import { channelsFirst, readDataFormat, spatialAxes } from "./channels.js";

const flatten: LayerKind = (settings) => {
  const format = readDataFormat(settings);
  return plain((x) => {
    const order = [0, ...x.shape.map((_, axis) => axis).slice(2), 1];
    const last = format === "channels_first" && x.shape.length > 2 ? transpose(x, order) : x;
    return reshape(last, [x.shape[0] ?? 1, -1]);
  });
};

const reshapeKind: LayerKind = (settings) => {
  const target = settings.list("target_shape");
  return plain((x) => reshape(x, [x.shape[0] ?? 1, ...target]));
};

const permute: LayerKind = (settings) => {
  const order = settings.list("dims");
  return plain((x) => transpose(x, [0, ...order]));
};

const repeatVector: LayerKind = (settings) => {
  const count = settings.number("n");
  return plain((x) => expand(unsqueeze(x, [1]), [x.shape[0] ?? 1, count, ...x.shape.slice(1)]));
};

const zeroPadding =
  (axes: number): LayerKind =>
  (settings) => {
    const [margins, format] = [settings.margins("padding", axes), readDataFormat(settings)];
    return plain((x) => {
      const padded = spatialAxes(x, format);
      return pad(
        x,
        x.shape.map((_, axis) => margins[padded.indexOf(axis)] ?? ([0, 0] as const)),
      );
    });
  };

const cropping =
  (axes: number): LayerKind =>
  (settings) => {
    const [margins, format] = [settings.margins("cropping", axes), readDataFormat(settings)];
    return plain((x) => {
      const ranges = spatialAxes(x, format).map((axis, at) => {
        const [before, after] = margins[at] ?? [0, 0];
        return { axis, start: before, end: (x.shape[axis] ?? 0) - after };
      });
      return slice(x, ranges);
    });
  };

/** Each element `times` times in a row along the axis. */
function repeatElements(x: Tensor, axis: number, times: number): Tensor {
  if (times === 1) return x;
  const [before, after] = [x.shape.slice(0, axis + 1), x.shape.slice(axis + 1)];
  const spread = expand(unsqueeze(x, [axis + 1]), [...before, times, ...after]);
  return reshape(spread, [...x.shape.slice(0, axis), (x.shape[axis] ?? 1) * times, ...after]);
}

const upSampling =
  (axes: number): LayerKind =>
  (settings) => {
    const [times, format] = [settings.numbers("size", axes, 2), readDataFormat(settings)];
    settings.expect("interpolation", "nearest");
    return plain((x) =>
      channelsFirst(x, format, (first) =>
        times.reduce((y, factor, axis) => repeatElements(y, axis + 2, factor), first),
      ),
    );
  };

export const SHAPE_LAYERS: Readonly<Record<string, LayerKind>> = {
  Flatten: flatten,
  Reshape: reshapeKind,
  Permute: permute,
  RepeatVector: repeatVector,
  ZeroPadding1D: zeroPadding(1),
  ZeroPadding2D: zeroPadding(2),
  Cropping1D: cropping(1),
  Cropping2D: cropping(2),
  UpSampling1D: upSampling(1),
  UpSampling2D: upSampling(2),
};
