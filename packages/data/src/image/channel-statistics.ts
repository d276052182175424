import { checkImages, type LabeledImages } from "./labeled-images.js";

/** Mean and deviation of each channel, with bytes scaled to 0 … 1; constant channels get the deviation 1. */
export interface ChannelStatistics {
  readonly mean: readonly number[];
  readonly deviation: readonly number[];
}

/** Mean and deviation of each channel over all images, for `normalize`. @throws MP_SHAPE_MISMATCH as `imageBatches` */
export function channelStatistics(images: LabeledImages): ChannelStatistics {
  const [count, channels, height, width] = checkImages("channelStatistics", images);
  const { data } = images.x;
  const area = height * width;
  const mean: number[] = [];
  const deviation: number[] = [];
  for (let channel = 0; channel < channels; channel++) {
    // Sums of bytes and their squares are integers that a double holds exactly, for 2^37 of them.
    let [sum, squares] = [0, 0];
    for (let image = 0; image < count; image++) {
      const start = (image * channels + channel) * area;
      for (let index = start; index < start + area; index++) {
        const byte = data[index] as number;
        sum += byte;
        squares += byte * byte;
      }
    }
    const middle = sum / (count * area);
    mean.push(middle / 255);
    deviation.push(Math.sqrt(Math.max(0, squares / (count * area) - middle * middle)) / 255 || 1);
  }
  return { mean, deviation };
}
