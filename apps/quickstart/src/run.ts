import type { RunResult } from "@mp/cli";
import {
  fitByFlags,
  pointBatches,
  type Run,
  resultOf,
  stepFlops,
  trainerOptions,
  unseenPoints,
} from "@mp/cli/training";
import { adamW, key, remat, type Tensor, type Traced, trainer } from "@mp/core";
import { relu } from "@mp/core/ops";
import { dense, sequential, softmaxCrossEntropy } from "@mp/nn";
import { accuracy } from "@mp/nn/metrics";
import type { Options } from "./flags.js";

type Batch = { readonly x: Tensor; readonly y: Tensor };

/** Trains from the first step to the accuracy on points that were not trained on. */
export async function runQuickstart(run: Run<Options>): Promise<{ readonly result: RunResult }> {
  const { hidden, learningRate, checkpointing, seed } = run.options;
  const model = sequential(dense(2, hidden), relu, dense(hidden, 2));
  const apply = checkpointing ? remat(model.apply) : model.apply;
  await using training = await trainer({
    ...trainerOptions(run),
    params: model.init(key(seed)),
    loss: (params, { x, y }: Batch, context) => softmaxCrossEntropy(apply(params, x, context), y),
    optimizer: adamW({ learningRate }),
  });
  const batches = pointBatches();
  const record = await fitByFlags({ ...run, training, batches });
  const metrics = (params: Traced<ReturnType<typeof model.init>>, { x, y }: Batch) => ({
    accuracy: accuracy(apply(params, x), y),
  });
  const evaluation = await training.evaluateAll(unseenPoints(), { metrics });
  const metric = { name: "accuracy", value: evaluation.metrics.accuracy };
  const flops = await stepFlops(training, batches);
  return { result: await resultOf({ ...run, training, record, metric, flops }) };
}
