/** Writes images into batches as floats: augmented, and mapped by one table per channel. */
import { randomStream } from "../random.js";
import type { AugmentOptions } from "./augment-options.js";
import { drawRectangle, erase } from "./erase.js";
import { drawMove, movePixels, STILL } from "./move-pixels.js";
import { drawFactors, recolor } from "./recolor.js";

/** Separates the random streams of augmentation from those of shuffling with the same seed. */
const AUGMENTATION = 1;

export interface PaintedImages {
  /** [examples, channels, height, width] */
  readonly data: Uint8Array;
  readonly height: number;
  readonly width: number;
  /** The float for each byte, by channel. */
  readonly tables: readonly Float32Array[];
  readonly augment: AugmentOptions | undefined;
}

/** Writes an image, augmented for the epoch, into `out` [channels, height, width]. */
export type ImagePainter = (out: Float32Array, image: number, epoch: number) => void;

export function imagePainter({ data, height, width, tables, augment }: PaintedImages): ImagePainter {
  const area = height * width;
  const shape = { channels: tables.length, height, width };
  const pixels = new Uint8ClampedArray(tables.length * area);
  return (out, image, epoch) => {
    // Each augmentation draws only if it is asked for, so that a new one leaves the numbers of the others alone.
    const stream = randomStream(augment?.seed ?? 0, AUGMENTATION, epoch, image);
    const source = data.subarray(image * pixels.length, (image + 1) * pixels.length);
    movePixels(pixels, source, shape, augment === undefined ? STILL : drawMove(augment, stream));
    if (augment?.color !== undefined) recolor(pixels, area, drawFactors(augment.color, stream));
    for (const [channel, table] of tables.entries())
      for (let at = channel * area; at < (channel + 1) * area; at++)
        out[at] = table[pixels[at] as number] as number;
    const hole = augment?.erase === undefined ? undefined : drawRectangle(augment.erase, shape, stream);
    if (hole !== undefined) erase(out, shape, hole);
  };
}
