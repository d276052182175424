import type { AppContext, RunResult } from "@mp/cli";
import { fitByFlags, onBackend, precisionOf, resultOf } from "@mp/cli/training";
import { adamW, key, remat, type Tensor, type Traced, trainer } from "@mp/core";
import { graphCost } from "@mp/core/graph";
import { relu } from "@mp/core/ops";
import { dense, sequential, softmaxCrossEntropy } from "@mp/nn";
import { accuracy } from "@mp/nn/metrics";
import type { Options } from "./flags.js";
import { pointBatch, pointBatches } from "./points.js";

/** Batches that no run trains on. */
const HELD_OUT = { first: 2 ** 20, count: 16 };

/** Trains from the first step to the accuracy on held-out points. */
export function runQuickstart(options: Options, label: string, context: AppContext): Promise<RunResult> {
  return onBackend(options, async (backend) => {
    const { seed, accumulate, onOverflow } = options;
    const model = sequential(dense(2, options.hidden), relu, dense(options.hidden, 2));
    const apply = options.checkpointing ? remat(model.apply) : model.apply;
    type Batch = { readonly x: Tensor; readonly y: Tensor };
    const metrics = (params: Traced<ReturnType<typeof model.init>>, { x, y }: Batch) => ({
      accuracy: accuracy(apply(params, x), y),
    });
    await using training = await trainer({
      backend,
      params: model.init(key(seed)),
      loss: (params, { x, y }: Batch, context) => softmaxCrossEntropy(apply(params, x, context), y),
      optimizer: adamW({ learningRate: options.learningRate }),
      precision: precisionOf(options, backend.manifest),
      seed,
      accumulate,
      onOverflow,
      signal: context.signal,
    });
    const record = await fitByFlags({ training, batches: pointBatches(), options, context, label });
    const heldOut = Array.from({ length: HELD_OUT.count }, (_, index) => pointBatch(HELD_OUT.first + index));
    const evaluation = await training.evaluateAll(heldOut, { metrics });
    return resultOf({
      context,
      options,
      backend,
      training,
      record,
      metric: { name: "accuracy", value: evaluation.metrics.accuracy },
      flops: graphCost(training.graph(pointBatch(0))).flops,
    });
  });
}
