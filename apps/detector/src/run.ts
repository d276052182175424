import type { RunResult } from "@mp/cli";
import { firstBatch, fitByFlags, type Run, resultOf } from "@mp/cli/training";
import type { PrecisionReport } from "@mp/core";
import { graphCost } from "@mp/core/graph";
import { anchorMaps, placeAnchors } from "./boxes/anchors.js";
import { type JudgedImage, meanAveragePrecision } from "./boxes/mean-average-precision.js";
import { sceneBatches } from "./data/scene-batches.js";
import type { Scenes } from "./data/scenes.js";
import { findBoxes } from "./find-boxes.js";
import type { Options } from "./flags.js";
import { ssd } from "./model.js";
import { detectorTraining } from "./training.js";

/** A run's result, and the data for the app's own output. */
export interface DetectorRun {
  readonly result: RunResult;
  /** The test images with their detections. */
  readonly judged: readonly JudgedImage[];
  /** The precision report of the last step, where requested. */
  readonly report: PrecisionReport | undefined;
}

/** One training run from its first step to its mean average precision on test images. */
export async function runDetector(run: Run<Options>, scenes: Scenes): Promise<DetectorRun> {
  const { options } = run;
  const { seed, batch, size, width, checkpointing } = options;
  const maps = anchorMaps(size);
  const anchors = placeAnchors(maps, size);
  const classes = scenes.classes.length;
  const model = ssd({ width, classes, maps, checkpointing });
  // Generated figures already come in every orientation.
  const batches = sceneBatches(scenes, anchors, { batch, seed, flip: options.data !== undefined });
  await using training = await detectorTraining(model, run);
  const judge = () => findBoxes(training, model, { scenes, anchors, batch });
  const untrained = meanAveragePrecision(await judge(), classes);
  const record = await fitByFlags({ ...run, training, batches });
  const judged = await judge();
  const { mean, byClass } = meanAveragePrecision(judged, classes);
  const first = await firstBatch(batches);
  const result = await resultOf({
    ...run,
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
}
