import type { CommonOptions, RunResult } from "@mp/cli";
import { fitByFlags, type Run, resultOf, trainerOptions } from "@mp/cli/training";
import { key, remat, sgd, trainer } from "@mp/core";
import { relu } from "@mp/core/ops";
import { dense, meanSquaredError, sequential } from "@mp/nn";
import { columnBatches } from "./points.js";

export interface NetworkOptions extends CommonOptions {
  readonly hidden: number;
  readonly learningRate: number;
}

/** Trains the quickstart's network by plain gradient descent, on any backend. */
export async function train(run: Run<NetworkOptions>): Promise<RunResult> {
  const { hidden, learningRate, seed, checkpointing } = run.options;
  const model = sequential(dense(2, hidden), relu, dense(hidden, 2));
  const apply = checkpointing ? remat(model.apply) : model.apply;
  await using training = await trainer({
    ...trainerOptions(run),
    params: model.init(key(seed)),
    loss: (params, { x, y }, loss) => meanSquaredError(apply(params, x, loss), y),
    optimizer: sgd({ learningRate }),
  });
  const record = await fitByFlags({ ...run, training, batches: columnBatches() });
  const metric = { name: "last loss", value: record.loss.at(-1) ?? Number.NaN };
  return await resultOf({ ...run, training, record, metric });
}
