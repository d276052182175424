/** Writes images into batches as floats: cropped, mirrored, and mapped by one table per channel. */
import { randomStream } from "../random.js";

export interface AugmentOptions {
  readonly seed: number;
  /** Whether to mirror each image left to right with probability ½. */
  readonly flip?: boolean;
  /** Pads by this many zeros, then crops to the original size at random; 4 is usual for CIFAR. */
  readonly crop?: number;
}

/** Separates the random streams of augmentation from those of shuffling with the same seed. */
const AUGMENTATION = 1;

/** The crop and flip of an image; pixels outside it are 0. */
interface Move {
  readonly top: number;
  readonly left: number;
  readonly isFlipped: boolean;
}

const STILL: Move = { top: 0, left: 0, isFlipped: false };

function drawMove({ seed, crop = 0, flip = false }: AugmentOptions, epoch: number, image: number): Move {
  const stream = randomStream(seed, AUGMENTATION, epoch, image);
  const shift = (): number => (crop > 0 ? stream.integer(2 * crop + 1) - crop : 0);
  const [top, left] = [shift(), shift()];
  return { top, left, isFlipped: flip && stream.integer(2) === 1 };
}

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
  return (out, image, epoch) => {
    const { top, left, isFlipped } = augment === undefined ? STILL : drawMove(augment, epoch, image);
    for (const [channel, table] of tables.entries()) {
      const [from, base] = [(image * tables.length + channel) * area, channel * area];
      for (let row = 0; row < height; row++) {
        const sourceRow = row + top;
        const isRowInside = sourceRow >= 0 && sourceRow < height;
        for (let column = 0; column < width; column++) {
          const sourceColumn = (isFlipped ? width - 1 - column : column) + left;
          const isInside = isRowInside && sourceColumn >= 0 && sourceColumn < width;
          const value = isInside ? (data[from + sourceRow * width + sourceColumn] as number) : 0;
          out[base + row * width + column] = table[value] as number;
        }
      }
    }
  };
}
