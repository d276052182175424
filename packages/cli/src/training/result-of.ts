import type { Backend, Precision, TrainingWarning } from "@mp/core";
import type { CommonOptions } from "../common-flags.js";
import { type RunResult, stepTimes } from "../result.js";
import type { TrainingRecord } from "./fit-by-flags.js";
import { lossScaleName } from "./precision.js";
import type { Run } from "./run.js";

export interface ResultParts extends Omit<Run<CommonOptions>, "label"> {
  /** The run's trainer. */
  readonly training: {
    readonly precision: Precision;
    readonly warnings: readonly TrainingWarning[];
    peakBytes(): Promise<number | undefined>;
  };
  readonly record: TrainingRecord;
  readonly metric: RunResult["metric"];
  /** Floating-point operations of a microbatch, forward and backward; without them no rate is reported. */
  readonly flops?: number;
  readonly details?: RunResult["details"];
}

/** Makes the result of an evaluated run, and adds the metric to the page of `--report`. */
export async function resultOf(parts: ResultParts): Promise<RunResult> {
  const { context, options, backend, training, record, metric, flops, details } = parts;
  // Comes first, because an app may dispose of the trainer while the rest is awaited.
  const peakMemoryBytes = (await training.peakBytes()) ?? null;
  const { milliseconds, conclude, ...counted } = record;
  await conclude?.(metric);
  const msPerStep = stepTimes(milliseconds);
  const hasRate = flops !== undefined && msPerStep !== null;
  return {
    app: context.name,
    backend: backend.name,
    device: options.device,
    engine: backend.manifest.engine,
    precision: training.precision.name,
    lossScale: lossScaleName(options, training.precision),
    masterWeights: options.masterWeights,
    seed: options.seed,
    ...counted,
    metric,
    msPerStep,
    flopsPerSecond: hasRate ? (flops * options.accumulate * 1000) / msPerStep.median : null,
    peakMemoryBytes,
    emulated: [
      ...training.warnings.filter(({ type }) => type === "emulated").map(({ message }) => message),
      ...emulatedProducts(backend, training.precision),
    ],
    ...(details === undefined ? {} : { details }),
  };
}

/** Says that products of a recipe are emulated. A backend that adds 8-bit floats itself does so for scales of tensors. */
function emulatedProducts({ name, manifest }: Backend, { name: precision, recipe }: Precision): string[] {
  const rules = recipe !== undefined && "rules" in recipe ? Object.values(recipe.rules) : [];
  const isByTensor = rules.length > 0 && rules.every(({ granularity }) => granularity === "tensor");
  if (recipe === undefined || (isByTensor && manifest.accumulate.f8 !== undefined)) return [];
  return [
    `${name}: products of ${precision} are emulated: same numbers, multiplied in f32, slower than float32`,
  ];
}
