import { type RunResult, stepTimes } from "@mp/cli";
import { lossScaleName, precisionOf, type TrainingRecord } from "@mp/cli/training";
import type { Backend } from "@mp/core";
import type { NetworkOptions } from "./run.js";

/** What `--json` writes: the run on the custom backend. */
export function resultOf(backend: Backend, options: NetworkOptions, record: TrainingRecord): RunResult {
  const { manifest, name } = backend;
  const precision = precisionOf(options, manifest);
  return {
    app: "custom-backend",
    backend: name,
    device: "cpu",
    engine: manifest.engine,
    precision: precision.name,
    lossScale: lossScaleName(options, precision),
    masterWeights: options.masterWeights,
    seed: options.seed,
    steps: record.steps,
    applied: record.applied,
    skipped: record.skipped,
    finalScale: record.finalScale,
    loss: record.losses,
    metric: { name: "last loss", value: record.losses.at(-1) ?? Number.NaN },
    msPerStep: stepTimes(record.milliseconds),
    flopsPerSecond: null,
    peakMemoryBytes: null,
    emulated: [],
  };
}
