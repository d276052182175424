import { formatShape, type HostTensor, MpError } from "@mp/core";

/** Images as bytes, 0 … 255, and the class of each. */
export interface LabelledImages {
  /** [examples, channels, height, width] */
  readonly x: HostTensor<"u8">;
  /** [examples], 0 … classes - 1 */
  readonly y: HostTensor<"i32">;
}

/** What to learn from and what to be judged by. */
export interface ImageSplits {
  readonly train: LabelledImages;
  readonly test: LabelledImages;
  /** By label. */
  readonly classes: readonly string[];
}

/** @throws MP_SHAPE_MISMATCH for images and labels that do not belong together */
export function checkImages(
  what: string,
  { x, y }: LabelledImages,
): readonly [number, number, number, number] {
  const [count, channels, height, width] = x.shape;
  if (
    count === undefined ||
    channels === undefined ||
    height === undefined ||
    width === undefined ||
    x.shape.length !== 4 ||
    x.dtype !== "u8"
  ) {
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `${what}: x is u8 [examples, channels, height, width], got ${x.dtype} ${formatShape(x.shape)}`,
    );
  }
  if (y.shape.length !== 1 || y.shape[0] !== count) {
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `${what}: ${count} images take labels [${count}], got ${formatShape(y.shape)}`,
    );
  }
  return [count, channels, height, width];
}
