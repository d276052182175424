import type { RandomStream } from "../random.js";
import type { ImageShape } from "./move-pixels.js";

/** torchvision's limits of a rectangle: share of the image, proportions, and number of tries to fit it in. */
const [LEAST_SHARE, MOST_SHARE, NARROWEST, WIDEST, TRIES] = [0.02, 0.33, 0.3, 3.3, 10];

export interface Rectangle {
  readonly top: number;
  readonly left: number;
  readonly height: number;
  readonly width: number;
}

/** Draws the rectangle to erase with this probability (Zhong et al., arXiv 1708.04896); undefined for none. */
export function drawRectangle(
  probability: number,
  { height, width }: ImageShape,
  { uniform, integer }: RandomStream,
): Rectangle | undefined {
  if (uniform() >= probability) return undefined;
  for (let tries = 0; tries < TRIES; tries++) {
    const area = height * width * (LEAST_SHARE + (MOST_SHARE - LEAST_SHARE) * uniform());
    const proportion = Math.exp(Math.log(NARROWEST) + Math.log(WIDEST / NARROWEST) * uniform());
    const [high, wide] = [Math.round(Math.sqrt(area * proportion)), Math.round(Math.sqrt(area / proportion))];
    if (high < height && wide < width)
      return { top: integer(height - high + 1), left: integer(width - wide + 1), height: high, width: wide };
  }
  return undefined;
}

/** Writes 0 into the rectangle of an image [channels, height, width]. */
export function erase(
  image: Float32Array,
  { height, width }: ImageShape,
  { top, left, ...size }: Rectangle,
): void {
  for (let channel = 0; channel < image.length; channel += height * width)
    for (let row = top; row < top + size.height; row++) {
      const start = channel + row * width + left;
      image.fill(0, start, start + size.width);
    }
}
