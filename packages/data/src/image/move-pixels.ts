/** Crops, mirrors and turns the pixels of an image. Where the result is outside of the image, pixels are 0. */
import type { RandomStream } from "../random.js";
import type { AugmentOptions } from "./augment-options.js";

export interface Move {
  readonly top: number;
  readonly left: number;
  readonly isFlipped: boolean;
  /** Degrees. */
  readonly angle: number;
}

export const STILL: Move = { top: 0, left: 0, isFlipped: false, angle: 0 };

export function drawMove(
  { crop = 0, flip = false, rotate = 0 }: AugmentOptions,
  { integer, uniform }: RandomStream,
): Move {
  const shift = (): number => (crop > 0 ? integer(2 * crop + 1) - crop : 0);
  const [top, left] = [shift(), shift()];
  return {
    top,
    left,
    isFlipped: flip && integer(2) === 1,
    angle: rotate > 0 ? rotate * (2 * uniform() - 1) : 0,
  };
}

export type ImageShape = Readonly<Record<"channels" | "height" | "width", number>>;

/** Writes the moved image into `out`; both are [channels, height, width]. */
export function movePixels(out: Uint8ClampedArray, from: Uint8Array, shape: ImageShape, move: Move): void {
  const area = shape.height * shape.width;
  const write = move.angle === 0 ? shiftChannel : turnChannel;
  for (let at = 0; at < from.length; at += area)
    write(out.subarray(at, at + area), from.subarray(at, at + area), shape, move);
}

function shiftChannel(
  out: Uint8ClampedArray,
  from: Uint8Array,
  { height, width }: ImageShape,
  { top, left, isFlipped }: Move,
): void {
  for (let row = 0; row < height; row++) {
    const sourceRow = row + top;
    const isRowInside = sourceRow >= 0 && sourceRow < height;
    for (let column = 0; column < width; column++) {
      const sourceColumn = (isFlipped ? width - 1 - column : column) + left;
      const isInside = isRowInside && sourceColumn >= 0 && sourceColumn < width;
      out[row * width + column] = isInside ? (from[sourceRow * width + sourceColumn] as number) : 0;
    }
  }
}

/** Interpolates between the four pixels around each place, and rounds to bytes. */
function turnChannel(
  out: Uint8ClampedArray,
  from: Uint8Array,
  { height, width }: ImageShape,
  { top, left, isFlipped, angle }: Move,
): void {
  const [cosine, sine] = [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
  const [middleRow, middleColumn] = [(height - 1) / 2, (width - 1) / 2];
  const pixel = (row: number, column: number): number =>
    row >= 0 && row < height && column >= 0 && column < width ? (from[row * width + column] as number) : 0;
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const [y, x] = [row - middleRow, (isFlipped ? width - 1 - column : column) - middleColumn];
      const sourceRow = cosine * y + sine * x + middleRow + top;
      const sourceColumn = cosine * x - sine * y + middleColumn + left;
      const [above, before] = [Math.floor(sourceRow), Math.floor(sourceColumn)];
      const [down, along] = [sourceRow - above, sourceColumn - before];
      out[row * width + column] =
        (1 - down) * ((1 - along) * pixel(above, before) + along * pixel(above, before + 1)) +
        down * ((1 - along) * pixel(above + 1, before) + along * pixel(above + 1, before + 1));
    }
  }
}
