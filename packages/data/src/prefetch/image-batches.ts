import { type HostTensor, tensor } from "@mp/core";
import { type BatchingOptions, batching, batchingChecks } from "../batching.js";
import { listOf, optional, optionsCheck } from "../check-arguments.js";
import { checkBytes } from "../data-size.js";
import { type Dataset, indexedDataset } from "../dataset.js";
import { datasetSignature } from "../dataset-signature.js";
import { invalid } from "../errors.js";
import { type AugmentOptions, checkAugment } from "../image/augment-options.js";
import type { ChannelStatistics } from "../image/channel-statistics.js";
import { imagePainter } from "../image/image-painter.js";
import { checkImages, type LabeledImages } from "../image/labeled-images.js";
import { drawMixture, mix } from "../image/mixup.js";
import { randomStream } from "../random.js";
import { ahead, prefetchImages } from "./prefetch.js";

export interface ImageBatchOptions extends BatchingOptions {
  /** Augmentations, drawn again for each image in each epoch. */
  readonly augment?: AugmentOptions;
  /**
   * Turns a byte b into (b / 255 - mean) / deviation, with its channel's mean and deviation, which
   * `channelStatistics` computes; default b / 255.
   */
  readonly normalize?: ChannelStatistics;
  /** Number of batches to make ahead on another thread, 1 to 1024; the batches stay the same. Default: none. */
  readonly prefetch?: number;
}

export interface ImageBatch {
  /** f32 [batch, channels, height, width] */
  readonly x: HostTensor<"f32">;
  /** i32 [batch] */
  readonly y: HostTensor<"i32">;
}

/** With `mixup`: each image is `share` parts an image of class `y`, and for the rest one of class `otherY`. */
export interface MixedImageBatch extends ImageBatch {
  /** i32 [batch] */
  readonly otherY: HostTensor<"i32">;
  /** f32 [batch], 0 … 1 */
  readonly share: HostTensor<"f32">;
}

/** The batches that options ask for. */
export type ImageBatchOf<O> = O extends { readonly augment: { readonly mixup: number } }
  ? MixedImageBatch
  : ImageBatch;

/** Separates the random streams of mixup from those of the images. */
const MIXUP = 2;

const numbers = listOf("finite numbers", Number.isFinite);
const checkOptions = optionsCheck<ImageBatchOptions>(
  {
    ...batchingChecks,
    augment: optional(checkAugment),
    normalize: optional(
      optionsCheck<ChannelStatistics>({ mean: numbers, deviation: numbers }, "those of channelStatistics"),
    ),
    prefetch: optional(ahead),
  },
  "{ batch: 32 }",
);

/**
 * Makes batches of images, shuffled, augmented and normalized. Each batch depends only on the data, the options and
 * its position, so that a run continues from a cursor with the same batches, prefetched or not.
 * @throws MP_INVALID_ARGUMENT for an unknown option, or one that does not fit the images
 * @throws MP_SHAPE_MISMATCH for images and labels that do not belong together
 */
export function imageBatches<const O extends ImageBatchOptions>(
  images: LabeledImages,
  options: O,
): Dataset<ImageBatchOf<O>> {
  checkOptions("imageBatches", options);
  const { prefetch, ...rest } = options;
  const dataset = plainBatches(images, rest) as Dataset<ImageBatchOf<O>>;
  return prefetch === undefined ? dataset : prefetchImages(dataset, images, rest, prefetch);
}

function plainBatches(
  images: LabeledImages,
  options: Omit<ImageBatchOptions, "prefetch">,
): Dataset<ImageBatch> {
  const [count, channels, height, width] = checkImages("imageBatches", images);
  const { epochs = 1, augment, normalize } = options;
  const { crop = 0, flip = false } = augment ?? {};
  if (augment?.color?.saturation !== undefined && channels !== 3)
    throw invalid(
      `imageBatches: augment: color: saturation must be left out, since it is of three channels, and these images have ${channels}`,
    );
  const side = Math.min(height, width);
  if (crop > side)
    throw invalid(
      `imageBatches: augment: crop must be an integer from 0 to ${side}, the image's side, got ${crop}`,
    );
  const { batchesPerEpoch, signed, examplesAt, dropped } = batching("imageBatches", count, options);
  const largest = Math.min(options.batch, count);
  checkBytes(
    `imageBatches: a batch of ${largest} images ${channels}×${height}×${width} as f32`,
    4 * largest * channels * height * width,
    "use a smaller batch",
  );
  const tables = valueTables(normalize, channels);
  const paint = imagePainter({ data: images.x.data, height, width, tables, augment });
  const stride = channels * height * width;
  return indexedDataset({
    signature: datasetSignature("images", {
      x: images.x,
      y: images.y,
      ...signed,
      augment: augment && { ...augment, crop, flip },
      normalize,
    }),
    batchesPerEpoch,
    dropped,
    epochs,
    batch: (position) => {
      const examples = examplesAt(position);
      const size = examples.length;
      const x = new Float32Array(size * stride);
      const y = new Int32Array(size);
      for (const [row, image] of examples.entries()) {
        y[row] = images.y.data[image] ?? 0;
        paint(x.subarray(row * stride, (row + 1) * stride), image, position.epoch);
      }
      const shape = [size, channels, height, width];
      if (augment?.mixup === undefined) return { x: tensor(x, shape), y: tensor(y) };
      const stream = randomStream(augment.seed, MIXUP, position.epoch, position.index);
      const mixture = drawMixture(augment.mixup, size, stream);
      return {
        x: tensor(mix(x, stride, mixture), shape),
        y: tensor(y),
        otherY: tensor(Int32Array.from(mixture.partners, (row) => y[row] as number)),
        share: tensor(mixture.shares),
      };
    },
  });
}

/** The float for each byte, by channel, because a lookup costs less than the arithmetic. */
function valueTables(normalize: ChannelStatistics | undefined, channels: number): Float32Array[] {
  return Array.from({ length: channels }, (_, channel) => {
    const mean = normalize === undefined ? 0 : normalize.mean[channel];
    const deviation = normalize === undefined ? 1 : normalize.deviation[channel];
    if (mean === undefined || deviation === undefined || deviation <= 0) {
      throw invalid(
        `imageBatches: normalize: has a mean and a deviation above 0 for each of ${channels} channels, got ${mean} and ${deviation} for channel ${channel}`,
      );
    }
    return Float32Array.from({ length: 256 }, (_, byte) => (byte / 255 - mean) / deviation);
  });
}
