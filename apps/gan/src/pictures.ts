import { UsageError } from "@mp/cli";
import { type HostTensor, tensor } from "@mp/core";
import { type ImageSplits, imageBatches, mapDataset, readImages, shapeImages } from "@mp/data";
import { NETWORKS, type Network, type Options } from "./flags.js";

/** The pictures of a run, and facts about their source for the result. */
export interface Pictures extends ImageSplits {
  readonly channels: number;
  readonly size: number;
  readonly summary: Readonly<Record<string, unknown>>;
}

/** The step of a run that `--overflow` overflows. */
const OVERFLOWING_STEP = 3;

/**
 * Reads the images in `--data`, or draws synthetic shapes.
 * @throws UsageError; MP_IO, MP_PARSE, MP_INVALID_ARGUMENT
 */
export async function loadPictures(options: Options): Promise<Pictures> {
  const { data, difficulty, trainImages, testImages, size } = options;
  const splits =
    data === undefined
      ? shapeImages({ seed: 0, train: trainImages, test: testImages, side: size, difficulty })
      : await readImages(data, { height: size, width: size });
  const [count, channels = 1, height = 1, width = 1] = splits.train.x.shape;
  if (height !== width || height % 4 !== 0) {
    throw new UsageError(
      `--data ${data}: the pictures are ${height} high and ${width} wide; the networks take squares of a multiple of 4`,
    );
  }
  return {
    ...splits,
    channels,
    size: height,
    summary: {
      source: data ?? `generated figures of difficulty ${difficulty}`,
      train: count,
      test: splits.test.y.data.length,
      shape: splits.train.x.shape.slice(1),
    },
  };
}

/** Endless batches for the trainer, by `--seed`. */
export function trainingBatches({ train, channels }: Pictures, options: Options) {
  const { batch, seed, overflow, accumulate } = options;
  const toOne = (value: number): readonly number[] => new Array<number>(channels).fill(value);
  const images = imageBatches(train, {
    batch,
    epochs: Number.POSITIVE_INFINITY,
    shuffle: { seed },
    // Scales to -1 … 1, the range of the generator's tanh.
    normalize: { mean: toOne(0.5), deviation: toOne(0.5) },
  });
  let taken = 0;
  return mapDataset(images, ({ x }) => {
    const step = Math.floor(taken++ / accumulate) + 1;
    const lossFactor = (network: Network): HostTensor<"f32"> => {
      const isHit = network === overflow && step === OVERFLOWING_STEP;
      return tensor(Float32Array.of(isHit ? Number.POSITIVE_INFINITY : 1), []);
    };
    const [discriminator, generator] = NETWORKS.map(lossFactor) as [HostTensor<"f32">, HostTensor<"f32">];
    return { x, factor: { discriminator, generator } };
  });
}

/** Converts bytes to numbers in -1 … 1. */
export function fromBytes({ data, shape }: HostTensor<"u8">): HostTensor<"f32"> {
  return tensor(
    Float32Array.from(data, (byte) => byte / 127.5 - 1),
    shape,
  );
}
