import { reduceMax, reduceMean, reshape, slice, type Tensor } from "@mp/core";

/** The mean of each channel of each image, [batch, channels, 1, 1]. */
export function globalAveragePool(x: Tensor): Tensor {
  return reduceMean(x, { axes: [2, 3], keepdims: true });
}

/** The largest of each 2 by 2 pixels, [batch, channels, ⌊height / 2⌋, ⌊width / 2⌋]. */
export function halve(x: Tensor): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  const [rows, columns] = [Math.floor(height / 2), Math.floor(width / 2)];
  const even = slice(x, [
    { axis: 2, start: 0, end: 2 * rows },
    { axis: 3, start: 0, end: 2 * columns },
  ]);
  return reduceMax(reshape(even, [batch, channels, rows, 2, columns, 2]), { axes: [3, 5] });
}
