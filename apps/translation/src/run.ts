import type { AppContext, RunResult } from "@mp/cli";
import {
  firstBatch,
  fitByFlags,
  onBackend,
  precisionOf,
  resultOf,
  withHalfReductions,
} from "@mp/cli/training";
import { adamW, foldIn, key, type Schedule, trainer } from "@mp/core";
import { graphCost } from "@mp/core/graph";
import { add, cast, div, minimum, mul, sqrt } from "@mp/core/ops";
import { arrayDataset } from "@mp/data";
import type { Options } from "./flags.js";
import { encodePairs, type ParallelText } from "./parallel-text.js";
import { transformer } from "./transformer.js";
import { judge } from "./translate.js";

/** One training run from its first step to its BLEU on unseen sentences. */
export function runTranslation(
  options: Options,
  label: string,
  text: ParallelText,
  context: AppContext,
): Promise<RunResult> {
  return onBackend(options, async (backend) => {
    const { seed, batch, accumulate, onOverflow } = options;
    const words = { source: text.source.size, target: text.target.size };
    const model = transformer({ ...options, words });
    const given = precisionOf(options, backend.manifest);
    const batches = arrayDataset(encodePairs(text.train, text), {
      batch,
      epochs: Number.POSITIVE_INFINITY,
      shuffle: { seed },
    });
    await using training = await trainer({
      backend,
      params: model.init(foldIn(key(seed), "model")),
      loss: model.loss,
      optimizer: adamW({ learningRate: rateOf(options) }),
      clipNorm: options.clip,
      precision: options.halfReductions ? withHalfReductions(given) : given,
      seed,
      accumulate,
      onOverflow,
      signal: context.signal,
    });
    const record = await fitByFlags({ training, batches, options, context, label });
    const { bleu, exactMatch, examples } = await judge(training, model, text, batch);
    return resultOf({
      context,
      options,
      backend,
      training,
      record,
      metric: { name: "BLEU", value: bleu },
      flops: graphCost(training.graph(await firstBatch(batches))).flops,
      details: { exactMatch, examples, data: text.summary },
    });
  });
}

/** Upwards to the highest, then down with the root of the steps, as in Vaswani et al.: it does not depend on `--steps`. */
function rateOf({ learningRate, warmup }: Options): Schedule {
  return function inverseRoot(step) {
    const t = add(cast(step, "f32"), 1);
    return mul(minimum(div(t, warmup), sqrt(div(warmup, t))), learningRate);
  };
}
