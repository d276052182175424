import { averagePool, maxPool, reduceMax, reduceMean } from "@mp/graph/ops";
import { type LayerKind, unary } from "../plan.js";
import { channelsFirst, readDataFormat, spatialAxes } from "./channels.js";

const pooling = (pool: typeof maxPool, axes: number): LayerKind =>
  unary(
    (settings) => {
      const size = settings.numbers("pool_size", axes, 2);
      const strides = settings.config["strides"] == null ? size : settings.numbers("strides", axes);
      const autoPad = settings.text("padding", "valid", "same");
      return { size, options: { strides, autoPad }, format: readDataFormat(settings) };
    },
    (x, { size, options, format }) => channelsFirst(x, format, (first) => pool(first, size, options)),
  );

const globalPooling = (reduce: typeof reduceMax): LayerKind =>
  unary(
    (settings) => ({ format: readDataFormat(settings), keepdims: settings.flag("keepdims", false) }),
    (x, { format, keepdims }) => reduce(x, { axes: spatialAxes(x, format), keepdims }),
  );

export const POOLING_LAYERS: Readonly<Record<string, LayerKind>> = {
  MaxPooling1D: pooling(maxPool, 1),
  MaxPooling2D: pooling(maxPool, 2),
  MaxPooling3D: pooling(maxPool, 3),
  AveragePooling1D: pooling(averagePool, 1),
  AveragePooling2D: pooling(averagePool, 2),
  AveragePooling3D: pooling(averagePool, 3),
  GlobalMaxPooling1D: globalPooling(reduceMax),
  GlobalMaxPooling2D: globalPooling(reduceMax),
  GlobalAveragePooling1D: globalPooling(reduceMean),
  GlobalAveragePooling2D: globalPooling(reduceMean),
};
