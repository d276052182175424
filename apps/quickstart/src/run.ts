import { type AppContext, type RunResult, stepTimes } from "@mp/cli";
import { backendOf, lossScaleName, precisionOf, train } from "@mp/cli/training";
import {
  adamW,
  argMax,
  type Backend,
  checkpoint,
  graphCost,
  key,
  type Precision,
  relu,
  type Tensor,
  type Traced,
  trainer,
} from "@mp/core";
import { dense, sequential, softmaxCrossEntropy } from "@mp/nn";
import type { Options } from "./flags.js";
import { POINTS, pointBatch, pointBatches } from "./points.js";

/** One of the runs of a command line. */
export interface Variant {
  readonly options: Options;
  /** Given: this precision instead of the flags'. */
  readonly precision?: Precision;
  readonly save: string | undefined;
  readonly resume: string | undefined;
  readonly report: string | undefined;
}

/** Batches that no run gets to train on. */
const HELD_OUT = { first: 2 ** 20, count: 16 };

/** Trains from the first step to the accuracy on points that were not seen. */
export async function runQuickstart(variant: Variant, context: AppContext): Promise<RunResult> {
  const backend = await backendOf(variant.options);
  try {
    return await runOn(backend, variant, context);
  } finally {
    await backend.dispose();
  }
}

async function runOn(backend: Backend, variant: Variant, context: AppContext): Promise<RunResult> {
  const { options, save, resume, report } = variant;
  const { seed, accumulate, onOverflow } = options;
  const precision = variant.precision ?? precisionOf(options, backend.manifest);
  const model = sequential(dense(2, options.hidden), relu, dense(options.hidden, 2));
  const apply = options.checkpointing ? checkpoint(model.apply) : model.apply;
  const classify = (params: Traced<ReturnType<typeof model.init>>, { x }: { readonly x: Tensor }): Tensor =>
    argMax(apply(params, x), { axis: 1 });
  await using training = await trainer({
    backend,
    params: model.init(key(seed)),
    loss: (params, { x, y }, context) => softmaxCrossEntropy(apply(params, x, context), y),
    optimizer: adamW({ learningRate: options.learningRate }),
    precision,
    seed,
    accumulate,
    onOverflow,
  });
  const record = await train({
    training,
    batches: pointBatches(),
    options,
    context,
    label: precision.name,
    save,
    resume,
    report,
  });
  let hits = 0;
  for (let index = 0; index < HELD_OUT.count; index++) {
    const { x, y } = pointBatch(HELD_OUT.first + index);
    const classes = await training.predict(classify, { x });
    hits += classes.data.filter((label, point) => label === y.data[point]).length;
  }
  const msPerStep = stepTimes(record.milliseconds.length === 0 ? [0] : record.milliseconds);
  const { flops } = graphCost(training.graph(pointBatch(0)));
  return {
    app: "quickstart",
    backend: options.backend,
    device: options.device,
    engine: backend.manifest.engine,
    precision: precision.name as RunResult["precision"],
    lossScale: variant.precision === undefined ? lossScaleName(options, precision) : "none",
    masterWeights: variant.precision === undefined ? options.masterWeights : "f32",
    seed,
    steps: record.steps,
    applied: record.applied,
    skipped: record.skipped,
    finalScale: record.finalScale,
    loss: record.losses,
    metric: { name: "accuracy", value: hits / (HELD_OUT.count * POINTS) },
    msPerStep,
    flopsPerSecond: msPerStep.median === 0 ? null : (flops * accumulate * 1000) / msPerStep.median,
    peakMemoryBytes: (await training.peakBytes()) ?? null,
    emulated: training.warnings.filter(({ type }) => type === "emulated").map(({ message }) => message),
  };
}
