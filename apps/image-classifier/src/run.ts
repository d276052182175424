import type { RunResult } from "@mp/cli";
import { firstBatch, fitByFlags, type Run, resultOf, trainerOptions } from "@mp/cli/training";
import {
  foldIn,
  type HalfDType,
  key,
  type LossContext,
  type Precision,
  type Tensor,
  type Tree,
  trainer,
} from "@mp/core";
import { graphCost } from "@mp/core/graph";
import { imageBatches } from "@mp/data";
import { type Model, softmaxCrossEntropy } from "@mp/nn";
import { accuracy } from "@mp/nn/metrics";
import type { Options } from "./flags.js";
import type { Images } from "./images.js";
import { castNetwork } from "./manual.js";
import { models } from "./models/index.js";
import { scheduledOptimizer } from "./optimizers.js";
import { choosePrecision } from "./precision.js";

type Batch = { readonly x: Tensor; readonly y: Tensor };
type Trees = Tree<Tensor>;

/** Pixels of padding around an image for random crops. */
const BORDER = 2;

/** One training run from its first step to its accuracy on test images. */
export async function runClassifier(
  run: Run<Options>,
  images: Images,
): Promise<{ readonly result: RunResult }> {
  const { options } = run;
  const { seed, batch, prefetch } = options;
  const { precision, castTo } = choosePrecision(run);
  const model = buildModel(options, images, castTo);
  const batches = imageBatches(images.train, {
    batch,
    epochs: Number.POSITIVE_INFINITY,
    shuffle: { seed },
    // Generated figures already come in all positions and orientations.
    ...(options.data === undefined ? {} : { augment: { seed, flip: images.channels === 3, crop: BORDER } }),
    normalize: images.statistics,
    ...(prefetch === 0 ? {} : { prefetch }),
  });
  await using training = await classifierTraining(model, run, precision);
  const record = await fitByFlags({ ...run, training, batches });
  // Includes the last, smaller batch.
  const test = imageBatches(images.test, { batch, normalize: images.statistics, partial: "keep" });
  const metrics = (parameters: Trees, { x, y }: Batch, context: LossContext<Trees>) => ({
    accuracy: accuracy(model.apply(parameters, x, context)[0], y),
  });
  const evaluation = await training.evaluateAll(test, { metrics });
  const first = await firstBatch(imageBatches(images.train, { batch }));
  const result = await resultOf({
    ...run,
    training,
    record,
    metric: { name: "test accuracy", value: evaluation.metrics.accuracy },
    flops: graphCost(training.graph(first)).flops,
    details: { model: options.model, optimizer: options.optimizer, data: images.summary },
  });
  return { result };
}

/** A trainer for the network. */
export function classifierTraining(
  model: Model,
  run: Pick<Run<Options>, "options" | "backend"> & Partial<Pick<Run<Options>, "context">>,
  precision: Precision,
) {
  return trainer({
    ...trainerOptions(run),
    params: model.init(foldIn(key(run.options.seed), "model")),
    modelState: model.initState(),
    loss: (parameters, { x, y }: Batch, context) => {
      const [logits, modelState] = model.apply(parameters, x, context);
      return { loss: softmaxCrossEntropy(logits, y), modelState };
    },
    optimizer: scheduledOptimizer(run.options),
    precision,
  });
}

/** Builds the network of the flags, cast by hand if they say so. */
export function buildModel(options: Options, images: Images, castTo: HalfDType | undefined): Model {
  const { channels, size } = images;
  const { width, checkpointing } = options;
  const classes = images.classes.length;
  const model = models[options.model]({ channels, size, classes, width, checkpointing, castTo });
  return castTo === undefined ? model : castNetwork(model, castTo);
}
