import type { RunResult } from "@mp/cli";
import { fitByFlags, type Run, resultOf, stepFlops, trainerOptions } from "@mp/cli/training";
import { adamW, foldIn, key, type Schedule, trainer } from "@mp/core";
import { add, cast, div, minimum, mul, sqrt } from "@mp/core/ops";
import { arrayDataset } from "@mp/data";
import type { Options } from "./flags.js";
import { encodePairs, type ParallelText } from "./parallel-text.js";
import { transformer } from "./transformer.js";
import { judge } from "./translate.js";

/** One training run from its first step to its BLEU on unseen sentences. */
export async function runTranslation(
  run: Run<Options>,
  text: ParallelText,
): Promise<{ readonly result: RunResult }> {
  const { options } = run;
  const { seed, batch, clip } = options;
  const words = { source: text.source.size, target: text.target.size };
  const model = transformer({ ...options, words });
  const batches = arrayDataset(encodePairs(text.train, text), {
    batch,
    epochs: Number.POSITIVE_INFINITY,
    shuffle: { seed },
  });
  await using training = await trainer({
    ...trainerOptions(run),
    params: model.init(foldIn(key(seed), "model")),
    loss: model.loss,
    optimizer: adamW({ learningRate: inverseRootRate(options) }),
    clipNorm: clip,
  });
  const record = await fitByFlags({ ...run, training, batches });
  const { bleu, exactMatch, examples } = await judge(training, model, text, batch);
  const metric = { name: "BLEU", value: bleu };
  const flops = await stepFlops(training, batches);
  const details = { exactMatch, examples, data: text.summary };
  return { result: await resultOf({ ...run, training, record, metric, flops, details }) };
}

/** A rate that warms up to `--learning-rate`, then decays with the step's root (Vaswani et al.), for any `--steps`. */
function inverseRootRate({ learningRate, warmup }: Options): Schedule {
  return function inverseRoot(step) {
    const t = add(cast(step, "f32"), 1);
    return mul(minimum(div(t, warmup), sqrt(div(warmup, t))), learningRate);
  };
}
