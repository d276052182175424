import type { RunResult } from "@mp/cli";
import { fitByFlags, type Run, resultOf, trainerOptions } from "@mp/cli/training";
import { graphCost } from "@mp/core/graph";
import { digitBatch, digitBatches, unseenBatches } from "./digits/batches.js";
import type { Options } from "./flags.js";
import { digitTraining } from "./training.js";

/** Trains the page's network in Node, as the flags say; without flags, it trains as the page does. */
export async function runDigits(run: Run<Options>): Promise<{ readonly result: RunResult }> {
  const { batch, learningRate, checkpointing } = run.options;
  await using training = await digitTraining({ ...trainerOptions(run), learningRate, checkpointing });
  const record = await fitByFlags({ ...run, training, batches: digitBatches(batch) });
  const { metrics } = await training.evaluateAll(unseenBatches(8, batch));
  const metric = { name: "accuracy", value: metrics.accuracy };
  const { flops } = graphCost(training.graph(digitBatch(0, batch)));
  return { result: await resultOf({ ...run, training, record, metric, flops }) };
}
