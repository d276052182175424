// Statistics and sums are in f32 for every dtype, plane by plane within each channel; the variance is computed from
// squared differences, so that a large mean costs no precision.
import type { OpOf } from "../../graph/families.js";
import type { Shape } from "../../shape.js";
import type { Arithmetic } from "../elements/arithmetic.js";
import { outputType, type ReferenceTable } from "../elements/kernel.js";
import { type FloatStore, operand, readFloats } from "../elements/store.js";
import { countElements } from "../elements/strided.js";
import { inverseDeviations } from "./normalization.js";

interface Layout {
  readonly batch: number;
  readonly channels: number;
  /** Number of elements in one channel of one example. */
  readonly plane: number;
}

const findLayout = ([batch = 0, channels = 0, ...rest]: Shape): Layout => ({
  batch,
  channels,
  plane: countElements(rest),
});

/** Calls back for each element, plane by plane. */
function forEachElement(
  { batch, channels, plane }: Layout,
  visit: (at: number, channel: number) => void,
): void {
  for (let row = 0; row < batch * channels; row++) {
    const channel = row % channels;
    for (let at = row * plane; at < (row + 1) * plane; at++) visit(at, channel);
  }
}

/** Σ f(at) over the elements of each channel. */
function channelSums(
  { batch, channels, plane }: Layout,
  f: (at: number, channel: number) => number,
  arithmetic: Arithmetic,
): FloatStore {
  const sums = arithmetic.floats(channels);
  const [sum, term] = [arithmetic.floats(1), arithmetic.floats(1)];
  for (let row = 0; row < batch * channels; row++) {
    const channel = row % channels;
    sum[0] = 0;
    for (let at = row * plane; at < (row + 1) * plane; at++) {
      term[0] = f(at, channel);
      sum[0] = (sum[0] as number) + (term[0] as number);
    }
    sums[channel] = (sums[channel] as number) + (sum[0] as number);
  }
  return sums;
}

/** Subtracts from each x the mean of its channel. */
function centerValues(layout: Layout, x: FloatStore, mean: FloatStore, arithmetic: Arithmetic): FloatStore {
  const result = arithmetic.floats(x.length);
  forEachElement(layout, (at, channel) => {
    result[at] = (x[at] as number) - (mean[channel] as number);
  });
  return result;
}

export const batchNormalizationKernels: ReferenceTable<OpOf<"batch-normalization">> = {
  BatchNormalization: (inputs, { epsilon }, outputs, arithmetic) => {
    const layout = findLayout(operand(inputs, 0).shape);
    const [x, scale, bias] = inputs.map(readFloats) as [FloatStore, FloatStore, FloatStore];
    const count = layout.batch * layout.plane;
    const mean = channelSums(layout, (at) => x[at] as number, arithmetic).map((sum) => sum / count);
    const y = centerValues(layout, x, mean, arithmetic);
    const squares = channelSums(layout, (at) => (y[at] as number) ** 2, arithmetic);
    const variance = squares.map((sum) => sum / count);
    const inverse = inverseDeviations(variance, epsilon, arithmetic);
    forEachElement(layout, (at, channel) => {
      y[at] = (y[at] as number) * (inverse[channel] as number);
      y[at] = (y[at] as number) * (scale[channel] as number);
      y[at] = (y[at] as number) + (bias[channel] as number);
    });
    return [arithmetic.round(outputType(outputs).dtype, y), mean, variance];
  },

  /** dx = scale · r · (dy - Σdy/n - (x - mean) · r² · Σ(dy · (x - mean))/n), r = 1 / √(variance + ε). */
  BatchNormalizationGradient: (inputs, { epsilon }, outputs, arithmetic) => {
    const layout = findLayout(operand(inputs, 1).shape);
    type Floats = [FloatStore, FloatStore, FloatStore, FloatStore, FloatStore];
    const [dy, x, scale, mean, variance] = inputs.map(readFloats) as Floats;
    const count = layout.batch * layout.plane;
    const inverse = inverseDeviations(variance, epsilon, arithmetic);
    const difference = centerValues(layout, x, mean, arithmetic);
    const shift = channelSums(layout, (at) => dy[at] as number, arithmetic);
    const slope = channelSums(layout, (at) => (dy[at] as number) * (difference[at] as number), arithmetic);
    const dscale = slope.map((sum, channel) => sum * (inverse[channel] as number));
    const meanShift = shift.map((sum) => sum / count);
    const meanSlope = dscale.map((sum, channel) => (sum / count) * (inverse[channel] as number));
    const factor = inverse.map((r, channel) => r * (scale[channel] as number));
    const dx = difference;
    forEachElement(layout, (at, channel) => {
      dx[at] = (dx[at] as number) * (meanSlope[channel] as number);
      dx[at] = (dy[at] as number) - (meanShift[channel] as number) - (dx[at] as number);
      dx[at] = (dx[at] as number) * (factor[channel] as number);
    });
    return [arithmetic.round(outputType(outputs).dtype, dx), dscale, shift];
  },
};
