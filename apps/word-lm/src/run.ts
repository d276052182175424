import type { RunResult } from "@mp/cli";
import {
  firstBatch,
  fitByFlags,
  formatOperatorTable,
  operandBytes,
  operatorTable,
  type Run,
  resultOf,
  trainerOptions,
} from "@mp/cli/training";
import { key, momentum, type Ranks, type Trainer, trainer } from "@mp/core";
import { graphCost } from "@mp/core/graph";
import { exponentialDecay } from "@mp/core/optim";
import { languageModelBatches } from "@mp/data";
import type { Options } from "./flags.js";
import { type CarriedState, type WordBatch, wordModel } from "./model.js";
import type { Text } from "./text.js";

/** Initial weights are uniform in ±0.05, as in Zaremba et al.'s medium model. */
const INITIAL_SCALE = 0.05;

/** One training run from its first step to its held-out perplexity, as one of `ranks` if there are several. */
export async function runWordModel(
  run: Run<Options>,
  text: Text,
  ranks: Ranks | undefined,
): Promise<{ readonly result: RunResult }> {
  const { options } = run;
  const { batch, sequence, seed, accumulate } = options;
  const model = wordModel({ ...options, vocabulary: text.vocabularySize, initialScale: INITIAL_SCALE });
  const own = rankPart(text.train, ranks);
  const batches = languageModelBatches(own, { batch, sequence, epochs: Number.POSITIVE_INFINITY });
  // Created before training, so that a held-out text too short for the batch is refused before hours of training.
  const heldOut = languageModelBatches(text.valid, { batch, sequence });
  const stepsPerEpoch = Math.max(1, Math.floor((own.length - 1) / batch / sequence / accumulate));
  await using training = await trainer({
    ...trainerOptions(run),
    params: model.init(key(seed)),
    modelState: model.carried(batch),
    loss: model.loss,
    optimizer: momentum({
      learningRate: exponentialDecay(options.learningRate, { decay: options.decay, every: stepsPerEpoch }),
      momentum: options.momentum,
      states: options.states,
    }),
    clipNorm: options.clip,
    ...(ranks && { ranks }),
  });
  const record = await fitByFlags({ ...run, training, batches });
  const operators = options.profile ? await profileStep(run, training, batches) : undefined;
  const perplexity = await validationPerplexity(training, heldOut, model.carried(batch));
  const result = await resultOf({
    ...run,
    training,
    record,
    metric: { name: "perplexity", value: perplexity },
    flops: model.flopsPerStep(batch * sequence),
    details: {
      parameters: model.parameterCount,
      corpus: text.summary,
      operandBytes: operandBytes(training, await firstBatch(batches)),
      ...(operators === undefined ? {} : { operators }),
      ...(ranks === undefined ? {} : { ranks: ranks.size }),
    },
  });
  return { result };
}

/** A rank's part of the text: contiguous, and of the same length on every rank. */
function rankPart(tokens: Int32Array, ranks: Ranks | undefined): Int32Array {
  if (ranks === undefined) return tokens;
  const length = Math.floor(tokens.length / ranks.size);
  return tokens.subarray(length * ranks.rank, length * (ranks.rank + 1));
}

/** exp of the mean cross entropy over the text, read in order with carried state. */
async function validationPerplexity<P>(
  training: Trainer<P, WordBatch, CarriedState>,
  heldOut: ReturnType<typeof languageModelBatches>,
  start: CarriedState,
): Promise<number> {
  let sum = 0;
  let words = 0;
  let modelState: CarriedState = start;
  for await (const data of heldOut) {
    const { loss, modelState: next } = await training.evaluate(data, { modelState });
    const size = data.targets.data.length;
    sum += loss * size;
    words += size;
    modelState = next;
  }
  return Math.exp(sum / words);
}

/** Prints the time per operator of one extra step, from the engine's own profiler, and returns the table. */
async function profileStep<P>(
  { context, label }: Run<Options>,
  training: Trainer<P, WordBatch, CarriedState>,
  batches: ReturnType<typeof languageModelBatches>,
): Promise<unknown> {
  const batch = await firstBatch(batches);
  const graph = training.graph(batch);
  const { byOp } = graphCost(graph);
  const table = operatorTable(await training.profile(batch), { nodes: graph.nodes, work: byOp });
  context.print(`Time per operator, ${label}:\n${formatOperatorTable(table)}`);
  return table;
}
