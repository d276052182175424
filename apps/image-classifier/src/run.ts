import type { AppContext, RunResult } from "@mp/cli";
import { firstBatch, fitByFlags, onBackend, resultOf } from "@mp/cli/training";
import {
  type Backend,
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
import { optimizerOf } from "./optimizers.js";
import { precisionsOf } from "./precision.js";

type Batch = { readonly x: Tensor; readonly y: Tensor };
type Training = Awaited<ReturnType<typeof classifierTraining>>;

/** Pixels of padding around an image for random crops. */
const BORDER = 2;

/** One training run from its first step to its accuracy on test images. */
export function runClassifier(
  options: Options,
  label: string,
  images: Images,
  context: AppContext,
): Promise<RunResult> {
  return onBackend(options, async (backend) => {
    const { seed, batch, prefetch } = options;
    const { precision, castTo } = precisionsOf(options, backend.manifest);
    const model = modelOf(options, images, castTo);
    const batches = imageBatches(images.train, {
      batch,
      epochs: Number.POSITIVE_INFINITY,
      shuffle: { seed },
      // Generated figures already come in all positions and orientations.
      ...(options.data === undefined ? {} : { augment: { seed, flip: images.channels === 3, crop: BORDER } }),
      normalize: images.statistics,
      ...(prefetch === 0 ? {} : { prefetch }),
    });
    const { signal } = context;
    await using training = await classifierTraining(model, { backend, precision, options, signal });
    const record = await fitByFlags({ training, batches, options, context, label });
    const share = await testAccuracy(training, model, images, batch);
    const first = await firstBatch(imageBatches(images.train, { batch }));
    return resultOf({
      context,
      options,
      backend,
      training,
      record,
      metric: { name: "test accuracy", value: share },
      flops: graphCost(training.graph(first)).flops,
      details: { model: options.model, optimizer: options.optimizer, data: images.summary },
    });
  });
}

/** The network of the flags, cast by hand where they say so. */
export function modelOf(options: Options, images: Images, castTo: HalfDType | undefined): Model {
  const { channels, size, classes } = images;
  const { width, checkpointing } = options;
  const model = models[options.model]({
    channels,
    size,
    classes: classes.length,
    width,
    checkpointing,
    castTo,
  });
  return castTo === undefined ? model : castNetwork(model, castTo);
}

interface TrainingParts {
  readonly backend: Backend;
  readonly precision: Precision;
  readonly options: Options;
  /** Stops the step between microbatches. */
  readonly signal?: AbortSignal;
}

/** A trainer for the network. */
export function classifierTraining(model: Model, { backend, precision, options, signal }: TrainingParts) {
  const { seed, accumulate, onOverflow } = options;
  return trainer({
    backend,
    params: model.init(foldIn(key(seed), "model")),
    modelState: model.initState(),
    loss: (parameters, { x, y }: Batch, context) => {
      const [logits, modelState] = model.apply(parameters, x, context);
      return { loss: softmaxCrossEntropy(logits, y), modelState };
    },
    optimizer: optimizerOf(options),
    precision,
    seed,
    accumulate,
    onOverflow,
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Share of the test images that are classified correctly, including the last, smaller batch. */
async function testAccuracy(
  training: Training,
  model: Model,
  { test, statistics }: Images,
  batch: number,
): Promise<number> {
  type Trees = Tree<Tensor>;
  const metrics = (parameters: Trees, { x, y }: Batch, context: LossContext<Trees>) => ({
    accuracy: accuracy(model.apply(parameters, x, context)[0], y),
  });
  const batches = imageBatches(test, { batch, normalize: statistics, partial: "keep" });
  const evaluation = await training.evaluateAll(batches, { metrics });
  return evaluation.metrics.accuracy;
}
