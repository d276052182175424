import type { AppContext } from "@mp/cli";
import { type RunResult, stepTimes } from "@mp/cli";
import {
  backendOf,
  formatOperatorTable,
  lossScaleName,
  operatorTable,
  precisionOf,
  train,
} from "@mp/cli/training";
import {
  type Backend,
  exponentialDecay,
  graphCost,
  key,
  momentum,
  type Precision,
  type Trainer,
  trainer,
} from "@mp/core";
import { languageModelBatches } from "@mp/data";
import type { Options } from "./flags.js";
import { type CarriedState, wordModel } from "./model.js";
import type { Text } from "./text.js";

/** What distinguishes the runs of one command line. */
export interface Variant {
  readonly options: Options;
  /** Given: this precision instead of the flags'. */
  readonly precision?: Precision;
  readonly label: string;
  readonly save: string | undefined;
  readonly resume: string | undefined;
  readonly report: string | undefined;
}

/** Uniform ±0.05, as Zaremba et al. start their medium model. */
const INITIAL_SCALE = 0.05;

/** One training run from its first step to its held-out perplexity. */
export async function runWordModel(variant: Variant, text: Text, context: AppContext): Promise<RunResult> {
  const { options } = variant;
  const backend = await backendOf(options);
  try {
    const precision = variant.precision ?? precisionOf(options, backend.manifest);
    return await runOn(backend, precision, variant, text, context);
  } finally {
    await backend.dispose();
  }
}

async function runOn(
  backend: Backend,
  precision: Precision,
  variant: Variant,
  text: Text,
  context: AppContext,
): Promise<RunResult> {
  const { options } = variant;
  const { batch, sequence, seed } = options;
  const vocabulary = text.vocabularySize;
  const { layers, cells, dropout, checkpointing } = options;
  const model = wordModel({ vocabulary, layers, cells, dropout, checkpointing, initialScale: INITIAL_SCALE });
  const batches = languageModelBatches(text.train, { batch, sequence, epochs: Number.POSITIVE_INFINITY });
  // Made before training, so that a held-out text too short for the batch is refused before hours are spent.
  const heldOut = languageModelBatches(text.valid, { batch, sequence });
  const stepsPerEpoch = Math.floor((text.train.length - 1) / batch / sequence / options.accumulate);
  const training = await trainer({
    backend,
    params: model.init(key(seed)),
    modelState: model.carried(batch),
    loss: model.loss,
    optimizer: momentum({
      learningRate: exponentialDecay(options.learningRate, { decay: options.decay, every: stepsPerEpoch }),
      momentum: options.momentum,
    }),
    clipNorm: options.clip,
    precision,
    seed,
    accumulate: options.accumulate,
    onOverflow: options.onOverflow,
  });
  try {
    const { save, resume, report, label } = variant;
    const record = await train({ training, batches, options, context, label, save, resume, report });
    const times = stepTimes(record.milliseconds);
    const operators = options.profile ? await profiled(training, batches, context, label) : undefined;
    const perplexity = await heldOutPerplexity(training, heldOut, model.carried(batch));
    const peak = await training.peakBytes();
    return {
      app: "word-lm",
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
      metric: { name: "perplexity", value: perplexity },
      msPerStep: times,
      flopsPerSecond: (model.flopsPerStep(batch * sequence * options.accumulate) / times.median) * 1000,
      peakMemoryBytes: peak ?? null,
      emulated: training.warnings.filter(({ type }) => type === "emulated").map(({ message }) => message),
      details: {
        parameters: model.parameterCount,
        corpus: text.summary,
        ...(operators === undefined ? {} : { operators }),
      },
    };
  } finally {
    await training.dispose();
  }
}

/** exp of the mean cross entropy over the text, read in order with carried state. */
async function heldOutPerplexity<P, B>(
  training: Trainer<P, B, CarriedState>,
  heldOut: ReturnType<typeof languageModelBatches>,
  start: CarriedState,
): Promise<number> {
  let sum = 0;
  let words = 0;
  let modelState: CarriedState = start;
  for await (const data of heldOut) {
    const { loss, modelState: next } = await training.evaluate(data as never, { modelState });
    const size = data.targets.data.length;
    sum += loss * size;
    words += size;
    modelState = next;
  }
  return Math.exp(sum / words);
}

/** Time per operator of one further step, by the engine's own profiler. */
async function profiled<B>(
  training: Trainer<unknown, B, CarriedState>,
  batches: ReturnType<typeof languageModelBatches>,
  context: AppContext,
  label: string,
): Promise<unknown> {
  const { value } = await batches.iterate().next();
  const graph = training.graph(value as never);
  const { byOp } = graphCost(graph);
  const table = operatorTable(await training.profile(value as never), { nodes: graph.nodes, work: byOp });
  context.print(`Time per operator, ${label}:\n${formatOperatorTable(table)}`);
  return table;
}
