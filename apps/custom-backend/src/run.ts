import type { AppContext, CommonOptions, RunResult } from "@mp/cli";
import { fitByFlags, precisionOf, resultOf } from "@mp/cli/training";
import { type Backend, key, remat, sgd, trainer } from "@mp/core";
import { relu } from "@mp/core/ops";
import { dense, meanSquaredError, sequential } from "@mp/nn";
import { pointBatches } from "./points.js";

export interface NetworkOptions extends CommonOptions {
  readonly hidden: number;
  readonly learningRate: number;
}

/** Trains the quickstart's network by plain gradient descent. Independent of the backend: any will do. */
export async function trainOn(
  backend: Backend,
  options: NetworkOptions,
  context: AppContext,
): Promise<RunResult> {
  const { hidden, learningRate, seed, accumulate, onOverflow, checkpointing } = options;
  const model = sequential(dense(2, hidden), relu, dense(hidden, 2));
  const apply = checkpointing ? remat(model.apply) : model.apply;
  await using training = await trainer({
    backend,
    params: model.init(key(seed)),
    loss: (params, { x, y }, loss) => meanSquaredError(apply(params, x, loss), y),
    optimizer: sgd({ learningRate }),
    precision: precisionOf(options, backend.manifest),
    seed,
    accumulate,
    onOverflow,
    signal: context.signal,
  });
  const batches = pointBatches();
  const record = await fitByFlags({ training, batches, options, context, label: backend.name });
  const metric = { name: "last loss", value: record.losses.at(-1) ?? Number.NaN };
  return await resultOf({ context, options, backend, training, record, metric });
}
