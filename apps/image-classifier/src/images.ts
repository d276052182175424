import { MpError } from "@mp/core";
import {
  type ChannelStatistics,
  channelStatistics,
  type ImageSplits,
  readImages,
  shapeImages,
} from "@mp/data";
import type { Options } from "./flags.js";

/** The images of a run, and facts about their source for the result. */
export interface Images extends ImageSplits {
  /** Statistics of the training images, with which the test images are normalized as well. */
  readonly statistics: ChannelStatistics;
  readonly channels: number;
  readonly size: number;
  readonly summary: Readonly<Record<string, unknown>>;
}

/**
 * Reads the images in `--data`, or generates pictures of shapes.
 * @throws MP_IO, MP_PARSE, MP_INVALID_ARGUMENT
 */
export async function loadImages(options: Options): Promise<Images> {
  const { data, difficulty, trainImages, testImages, size } = options;
  const splits =
    data === undefined
      ? shapeImages({ seed: 0, train: trainImages, test: testImages, side: size, difficulty })
      : await readImages(data, { height: size, width: size });
  const [count, channels = 1, height = 1, width = 1] = splits.train.x.shape;
  if (height !== width) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `${data}: the images are ${height} high and ${width} wide, the networks take square ones; as pictures in a folder for each class they are cut to --size`,
    );
  }
  return {
    ...splits,
    statistics: channelStatistics(splits.train),
    channels,
    size: height,
    summary: {
      source: data ?? `generated figures of difficulty ${difficulty}`,
      train: count,
      test: splits.test.y.data.length,
      shape: splits.train.x.shape.slice(1),
      classes: splits.classes,
    },
  };
}
