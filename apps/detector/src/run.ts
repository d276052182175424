import type { AppContext, RunResult } from "@mp/cli";
import { firstBatch, onBackend, resultOf, train } from "@mp/cli/training";
import {
  adam,
  type Backend,
  chain,
  cosineDecay,
  div,
  fold,
  graphCost,
  key,
  momentum,
  type Optimizer,
  type Precision,
  type PrecisionReport,
  type Tensor,
  trainer,
  warmup,
  weightDecay,
} from "@mp/core";
import { anchorMaps, anchorsOf } from "./boxes/anchors.js";
import { type JudgedImage, meanAveragePrecision } from "./boxes/mean-average-precision.js";
import { sceneBatches } from "./data/scene-batches.js";
import type { Scenes } from "./data/scenes.js";
import { findBoxes } from "./find-boxes.js";
import type { Options } from "./flags.js";
import { type DetectorModel, ssd } from "./model.js";
import { multiboxLoss } from "./multibox-loss.js";
import { precisionOfRun } from "./precision.js";

/** A run's result, and what the app itself shows of it. */
export interface DetectorRun {
  readonly result: RunResult;
  /** The test images with what was found in them. */
  readonly judged: readonly JudgedImage[];
  /** Where the numbers of the last step lie, where asked for. */
  readonly report: PrecisionReport | undefined;
}

export interface RunParts {
  readonly scenes: Scenes;
  readonly context: AppContext;
}

export type SceneTensors = { readonly x: Tensor; readonly labels: Tensor; readonly offsets: Tensor };
export type Training = Awaited<ReturnType<typeof detectorTraining>>;

/** One training run from its first step to its mean average precision on images that it has not seen. */
export function runDetector(
  options: Options,
  label: string,
  { scenes, context }: RunParts,
): Promise<DetectorRun> {
  return onBackend(options, async (backend) => {
    const { seed, batch, size, width, checkpointing } = options;
    const precision = precisionOfRun(options, backend.manifest);
    const maps = anchorMaps(size);
    const anchors = anchorsOf(maps, size);
    const classes = scenes.classes.length;
    const model = ssd({ width, classes, maps, checkpointing });
    // Generated figures come turned every way already.
    const batches = sceneBatches(scenes, anchors, { batch, seed, flip: options.data !== undefined });
    const { signal } = context;
    await using training = await detectorTraining(model, { backend, precision, options, signal });
    const judge = (): Promise<readonly JudgedImage[]> =>
      findBoxes(training, model, { scenes, anchors, batch });
    const untrained = meanAveragePrecision(await judge(), classes);
    const record = await train({ training, batches, options, context, label });
    const judged = await judge();
    const { mean, byClass } = meanAveragePrecision(judged, classes);
    const first = await firstBatch(batches);
    const result = await resultOf({
      context,
      options,
      backend,
      training,
      record,
      metric: { name: "mAP at IoU 0.5", value: mean },
      flops: graphCost(training.graph(first)).flops,
      details: {
        optimizer: options.optimizer,
        data: scenes.summary,
        anchors: anchors.length,
        untrained: untrained.mean,
        averagePrecision: Object.fromEntries(
          scenes.classes.map((name, index) => [name, Number.isNaN(byClass[index]) ? null : byClass[index]]),
        ),
      },
    });
    const report = options.histogram ? await training.precisionReport(first) : undefined;
    return { result, judged, report };
  });
}

const EPSILON = 1e-8;
const rates: Readonly<Record<Options["optimizer"], number>> = { sgd: 0.02, adam: 0.002 };

/** Of all gradients together. */
const LARGEST_NORM = 10;

/** With L2 weight decay, and as if the loss were not divided; its rate rises for a tenth of all steps, then falls along a cosine. */
function optimizerOf(options: Options): Optimizer {
  const { optimizer, steps, lossDivisor, learningRate: highest = rates[optimizer] } = options;
  const rising = Math.max(1, Math.round(steps / 10));
  const rate = (top: number) => warmup(rising, cosineDecay(top, { steps: Math.max(1, steps - rising) }));
  const last =
    optimizer === "sgd"
      ? momentum({ learningRate: rate(highest * lossDivisor), momentum: options.momentum })
      : adam({ learningRate: rate(highest), epsilon: EPSILON / lossDivisor });
  return chain(weightDecay(options.weightDecay / lossDivisor), last as Optimizer);
}

interface TrainingParts {
  readonly backend: Backend;
  readonly precision: Precision;
  readonly options: Options;
  /** Stops it between microbatches. */
  readonly signal: AbortSignal;
}

/** A trainer of the network. */
function detectorTraining(model: DetectorModel, { backend, precision, options, signal }: TrainingParts) {
  const { seed, accumulate, onOverflow } = options;
  return trainer({
    backend,
    params: model.init(fold(key(seed), "model")),
    modelState: model.initState(),
    loss: (parameters, batch: SceneTensors, context) => {
      const [predicted, modelState] = model.apply(parameters, batch.x, context);
      return { loss: div(multiboxLoss(predicted, batch), options.lossDivisor), modelState };
    },
    optimizer: optimizerOf(options),
    precision,
    seed,
    accumulate,
    onOverflow,
    signal,
    // A few batches at the start have many boxes in them and push hard.
    clipNorm: LARGEST_NORM / options.lossDivisor,
  });
}
