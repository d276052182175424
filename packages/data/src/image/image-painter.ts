/** The bytes of an image as the numbers of a batch: cut out and mirrored as drawn, each byte by its channel's table. */
import { randomStream } from "../random.js";

export interface AugmentOptions {
  readonly seed: number;
  /** Mirror every other image, left to right. */
  readonly flip?: boolean;
  /** Put so many pixels of zero around the image and cut its size out at a random place, as is usual for CIFAR with 4. */
  readonly crop?: number;
}

/** Sets the streams of augmentation apart from those that shuffle, should both have one seed. */
const AUGMENTATION = 1;

/** How an image is moved; pixels that come from outside it are 0. */
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
  /** The value of each byte, for each channel. */
  readonly tables: readonly Float32Array[];
  readonly augment: AugmentOptions | undefined;
}

/** Writes an image as it is in that epoch into `out` [channels, height, width]. */
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
