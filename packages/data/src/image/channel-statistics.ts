/** Mean and deviation of each channel of bytes [count, channels, height, width] as 0 … 1; constant channels get 1. */
export function byteStatistics(
  data: Uint8Array,
  [count, channels, height, width]: readonly [number, number, number, number],
): { readonly mean: readonly number[]; readonly deviation: readonly number[] } {
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
