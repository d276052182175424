import { type HostTensor, isHostTensor, tensor } from "@mp/core";
import { claim, integer, optional, optionsCheck } from "../check-arguments.js";
import { checkBytes } from "../data-size.js";
import { invalid } from "../errors.js";

export interface WindowsOptions {
  /** Time steps in a window. */
  readonly length: number;
  /** Time steps to predict after a window; default 1. */
  readonly horizon?: number;
  /** Time steps from one window to the next; default 1. */
  readonly stride?: number;
  /** What to predict, f32 [times, columns]; default the series. */
  readonly target?: HostTensor<"f32">;
}

/** Windows of a series and what follows each: examples for `arrayDataset`. */
export type Windows = {
  /** f32 [windows, length, columns] */
  readonly x: HostTensor<"f32">;
  /** f32 [windows, horizon, columns of the target] */
  readonly y: HostTensor<"f32">;
};

const checkSeries = claim(
  "an f32 tensor [times, columns]",
  (value) => isHostTensor(value) && value.dtype === "f32" && value.shape.length === 2,
);
const checkOptions = optionsCheck<WindowsOptions>(
  {
    length: integer(1),
    horizon: optional(integer(1)),
    stride: optional(integer(1)),
    target: optional(checkSeries),
  },
  "{ length: 24 }",
);

/**
 * Cuts a series f32 [times, columns] into windows and the times that follow them, as Keras's
 * `timeseries_dataset_from_array`. Divide rows into parts before, so that no window has times of two parts. Copies each
 * time up to length / stride times. For `lstm`, which takes [time, batch, columns], transpose x in the loss.
 * @throws MP_INVALID_ARGUMENT for a series that is too short, or a target with other times; more than 2 GiB
 */
export function windows(series: HostTensor<"f32">, options: WindowsOptions): Windows {
  checkSeries("windows: series", series);
  checkOptions("windows", options);
  const { length, horizon = 1, stride = 1, target = series } = options;
  const [times = 0, columns = 0] = series.shape;
  const [targetTimes, outputs = 0] = target.shape;
  if (targetTimes !== times)
    throw invalid(`windows: target must have the series' ${times} times, got ${targetTimes}`);
  const count = Math.floor((times - length - horizon) / stride) + 1;
  if (count < 1)
    throw invalid(
      `windows: length and horizon must fit into the series of ${times} times, got ${length} and ${horizon}`,
    );
  checkBytes(`windows: ${count} windows`, 4 * count * length * columns, "use a larger stride");
  const cut = (from: HostTensor<"f32">, width: number, size: number, offset: number): HostTensor<"f32"> => {
    const data = new Float32Array(count * size * width);
    for (let at = 0; at < count; at++) {
      const start = (at * stride + offset) * width;
      data.set(from.data.subarray(start, start + size * width), at * size * width);
    }
    return tensor(data, [count, size, width]);
  };
  return { x: cut(series, columns, length, 0), y: cut(target, outputs, horizon, length) };
}
