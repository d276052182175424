import { type HostTensor, isHostTensor, type MpError } from "@mp/core";
import { formatShape } from "@mp/core/graph";
import { shapeMismatch, shown } from "@mp/graph/internal";
import { invalid } from "../errors.js";

/** Images as bytes from 0 to 255, and their classes. */
export interface LabeledImages {
  /** [examples, channels, height, width] */
  readonly x: HostTensor<"u8">;
  /** [examples], from 0 to classes - 1 */
  readonly y: HostTensor<"i32">;
}

/** Images for training and for the test. */
export interface ImageSplits {
  readonly train: LabeledImages;
  readonly test: LabeledImages;
  /** Names of the classes, by label. */
  readonly classes: readonly string[];
}

/** @throws MP_SHAPE_MISMATCH unless the values are images with one label each */
export function checkImages(what: string, images: LabeledImages): readonly [number, number, number, number] {
  if (typeof images !== "object" || images === null)
    throw invalid(
      `${what}: images must be { x, y } as mnist and imageFolder give them, got ${shown(images)}`,
    );
  if ("train" in images)
    throw invalid(`${what}: takes one part of the images, got ${shown(images)}; pass their train or test`);
  const { x, y }: { readonly x: unknown; readonly y: unknown } = images;
  if (!isHostTensor(x) || x.dtype !== "u8" || x.shape.length !== 4)
    throw wrongTensor(`${what}: x is u8 [examples, channels, height, width]`, x);
  const [count, channels, height, width] = x.shape as readonly [number, number, number, number];
  if (!isHostTensor(y) || y.dtype !== "i32" || y.shape.length !== 1 || y.shape[0] !== count)
    throw wrongTensor(`${what}: y is the labels of ${count} images, i32 [${count}]`, y);
  return [count, channels, height, width];
}

function wrongTensor(wanted: string, value: unknown): MpError {
  const got = isHostTensor(value) ? `${value.dtype} ${formatShape(value.shape)}` : shown(value);
  return shapeMismatch(`${wanted}, got ${got}`);
}
