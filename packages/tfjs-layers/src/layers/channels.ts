import type { Tensor } from "@mp/graph";
import { transpose } from "@mp/graph/ops";
import type { Settings } from "../settings.js";

export type DataFormat = "channels_last" | "channels_first";

export const readDataFormat = (settings: Settings): DataFormat =>
  settings.text("data_format", "channels_last", "channels_first");

/** Computes with the channels on the second axis; if they are last, moves them there and back. */
export function channelsFirst(x: Tensor, format: DataFormat, compute: (x: Tensor) => Tensor): Tensor {
  const rank = x.shape.length;
  if (format === "channels_first" || rank < 3) return compute(x);
  const spatial = Array.from({ length: rank - 2 }, (_, axis) => axis + 1);
  const y = compute(transpose(x, [0, rank - 1, ...spatial]));
  return transpose(y, [0, ...spatial.map((axis) => axis + 1), 1]);
}

/** The axes between batch and channels. */
export const spatialAxes = (x: Tensor, format: DataFormat): readonly number[] =>
  Array.from({ length: x.shape.length - 2 }, (_, axis) => axis + (format === "channels_last" ? 1 : 2));
