import type { AppContext, RunResult } from "@mp/cli";
import { fitByFlags, onBackend, precisionOf, resultOf } from "@mp/cli/training";
import { adamW, key, remat, trainer } from "@mp/core";
import { graphCost } from "@mp/core/graph";
import { digitBatch, digitBatches, heldOutBatches } from "./digits/batches.js";
import type { Options } from "./flags.js";
import { loss, model } from "./model.js";

/** The page's run in Node, by the flags: without any it is the page's. */
export function runDigits(options: Options, label: string, context: AppContext): Promise<RunResult> {
  return onBackend(options, async (backend) => {
    const { seed, accumulate, onOverflow, batch, learningRate, checkpointing } = options;
    await using training = await trainer({
      backend,
      params: model.init(key(seed)),
      loss: checkpointing ? remat(loss) : loss,
      optimizer: adamW({ learningRate }),
      precision: precisionOf(options, backend.manifest),
      seed,
      accumulate,
      onOverflow,
      signal: context.signal,
    });
    const record = await fitByFlags({ training, batches: digitBatches(batch), options, context, label });
    const { metrics } = await training.evaluateAll(heldOutBatches(8, batch));
    return resultOf({
      context,
      options,
      backend,
      training,
      record,
      metric: { name: "accuracy", value: metrics.accuracy },
      flops: graphCost(training.graph(digitBatch(0, batch))).flops,
    });
  });
}
