import { type HostTensor, tensor } from "@mp/core";
import { type BatchingOptions, batching, batchingChecks } from "../batching.js";
import { integer, listOf, optional, optionsCheck, truth } from "../check-arguments.js";
import { checkBytes } from "../data-size.js";
import { type Dataset, indexedDataset } from "../dataset.js";
import { datasetSignature } from "../dataset-signature.js";
import { invalid } from "../errors.js";
import type { ChannelStatistics } from "../image/channel-statistics.js";
import { type AugmentOptions, imagePainter } from "../image/image-painter.js";
import { checkImages, type LabeledImages } from "../image/labeled-images.js";
import { type PrefetchOptions, prefetchImages, prefetching } from "./prefetch.js";

export interface ImageBatchOptions extends BatchingOptions {
  /** Augmentations that keep the class, drawn again for each image in each epoch. */
  readonly augment?: AugmentOptions;
  /**
   * Turns a byte b into (b / 255 - mean) / deviation of its channel; default b / 255. `channelStatistics` computes
   * both.
   */
  readonly normalize?: ChannelStatistics;
  /** Number of batches to make ahead on another thread, at least 1; the batches stay the same. Default: none. */
  readonly prefetch?: number | PrefetchOptions;
}

export interface ImageBatch {
  /** f32 [batch, channels, height, width] */
  readonly x: HostTensor<"f32">;
  /** i32 [batch] */
  readonly y: HostTensor<"i32">;
}

const numbers = listOf("finite numbers", Number.isFinite);
const checkOptions = optionsCheck<ImageBatchOptions>(
  {
    ...batchingChecks,
    augment: optional(
      optionsCheck<AugmentOptions>(
        { seed: integer(), flip: optional(truth), crop: optional(integer(0)) },
        "{ seed: 1, flip: true }",
      ),
    ),
    normalize: optional(
      optionsCheck<ChannelStatistics>({ mean: numbers, deviation: numbers }, "those of channelStatistics"),
    ),
    prefetch: optional(prefetching),
  },
  "{ batch: 32 }",
);

/**
 * Makes batches of images, shuffled, augmented and normalized. Each batch depends only on the data, the options and
 * its position, so that a run continues from a cursor with the same batches, prefetched or not.
 * @throws MP_INVALID_ARGUMENT for an unknown option, or one that does not fit the images
 * @throws MP_SHAPE_MISMATCH for images and labels that do not belong together
 */
export function imageBatches(images: LabeledImages, options: ImageBatchOptions): Dataset<ImageBatch> {
  checkOptions("imageBatches", options);
  const { prefetch, ...rest } = options;
  const dataset = plainBatches(images, rest);
  return prefetch === undefined ? dataset : prefetchImages(dataset, images, rest, prefetch);
}

function plainBatches(
  images: LabeledImages,
  options: Omit<ImageBatchOptions, "prefetch">,
): Dataset<ImageBatch> {
  const [count, channels, height, width] = checkImages("imageBatches", images);
  const { epochs = 1, augment, normalize } = options;
  const { crop = 0, flip = false } = augment ?? {};
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
      augment: augment && { seed: augment.seed, crop, flip },
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
      return { x: tensor(x, [size, channels, height, width]), y: tensor(y) };
    },
  });
}

/** The float for each byte, by channel: a lookup costs less than the arithmetic. */
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
