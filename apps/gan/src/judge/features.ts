import type { HostTensor } from "@mp/core";
import { randomStream } from "@mp/data";

/** Side of a filter and its stride, in pixels. */
const SIDE = 5;
const STRIDE = 2;
const FILTERS = 12;
/** Number of quarters of a picture; means are over a quarter. */
const QUARTERS = 4;

/** Number of features of a picture. */
const FEATURES: number = FILTERS * QUARTERS;

/**
 * Features of pictures, f32 [pictures, channels, size, size]: how strongly each of a few random filters responds, on
 * average in each quarter. The filters are the same in every run and are computed on the host, so they do not depend on
 * engine, precision or seed.
 */
export function features({ data, shape }: HostTensor<"f32">): readonly Float64Array[] {
  const [count = 0, channels = 1, size = 1] = shape;
  const filters = randomFilters(channels);
  const area = channels * size * size;
  return Array.from({ length: count }, (_, at) =>
    describe(data.subarray(at * area, (at + 1) * area), filters, size),
  );
}

function randomFilters(channels: number): readonly Float64Array[] {
  const length = channels * SIDE * SIDE;
  return Array.from({ length: FILTERS }, (_, filter) => {
    const stream = randomStream(1, filter);
    return Float64Array.from({ length }, () => stream.normal() / Math.sqrt(length));
  });
}

function describe(picture: Float32Array, filters: readonly Float64Array[], size: number): Float64Array {
  const places = Math.floor((size - SIDE) / STRIDE) + 1;
  const half = places / 2;
  const result = new Float64Array(FEATURES);
  const seen = new Float64Array(QUARTERS);
  for (let row = 0; row < places; row++) {
    for (let column = 0; column < places; column++) {
      const quarter = (row < half ? 0 : 2) + (column < half ? 0 : 1);
      seen[quarter] = (seen[quarter] as number) + 1;
      const corner = STRIDE * (row * size + column);
      for (const [filter, weights] of filters.entries()) {
        let sum = 0;
        for (let tap = 0; tap < weights.length; tap++) {
          const channel = Math.floor(tap / (SIDE * SIDE));
          const inside = tap % (SIDE * SIDE);
          const pixel = channel * size * size + corner + Math.floor(inside / SIDE) * size + (inside % SIDE);
          sum += (weights[tap] as number) * (picture[pixel] as number);
        }
        const place = filter * QUARTERS + quarter;
        result[place] = (result[place] as number) + Math.max(0, sum);
      }
    }
  }
  return result.map((value, at) => value / Math.max(1, seen[at % QUARTERS] as number));
}
