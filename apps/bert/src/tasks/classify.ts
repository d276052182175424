import { UsageError } from "@mp/cli";
import {
  foldIn,
  type Key,
  type LossContext,
  type Tensor,
  type Traced,
  type Trainer,
  tensor,
  zeros,
} from "@mp/core";
import { arrayDataset } from "@mp/data";
import { softmaxCrossEntropy } from "@mp/nn";
import { accuracy } from "@mp/nn/metrics";
import type { Options } from "../flags.js";
import { classHead, type Encoder, type EncoderOptions, type EncoderParameters } from "../model.js";
import type { Text } from "../text/load-text.js";
import { cutSequences } from "../text/sequences.js";

export type Labeled = { readonly ids: Tensor; readonly labels: Tensor };

/** Classifies sequences by their source; judged by accuracy on the test part. */
export function classifyTask(
  { seed, batch, sequence }: Options,
  text: Text,
  model: { readonly encoder: Encoder; readonly options: EncoderOptions },
  start: { readonly key: Key; readonly encoder: EncoderParameters },
) {
  if (text.sources.length < 2) {
    throw new UsageError(
      "--task classify tells the sources of a text apart: --data needs two folders or more",
    );
  }
  const head = classHead(model.options, text.sources.length);
  const params = { encoder: start.encoder, head: head.init(foldIn(start.key, "head")) };
  const examples = (part: "train" | "test") => {
    const bySource = text.sources.map((source) => cutSequences([source[part]], sequence));
    const count = bySource.reduce((sum, own) => sum + own.count, 0);
    const ids = new Int32Array(count * sequence);
    const labels = new Int32Array(count);
    let row = 0;
    bySource.forEach((own, label) => {
      ids.set(own.ids, row * sequence);
      labels.fill(label, row, row + own.count);
      row += own.count;
    });
    return { ids: tensor(ids, [count, sequence]), labels: tensor(labels, [count]) };
  };
  const scores = (parameters: Traced<typeof params>, ids: Tensor, context: LossContext): Tensor =>
    head.apply(parameters.head, model.encoder.apply(parameters.encoder, ids, context), context);
  const metrics = (parameters: Traced<typeof params>, { ids, labels }: Labeled, context: LossContext) => ({
    accuracy: accuracy(scores(parameters, ids, context), labels),
  });
  const test = arrayDataset(examples("test"), { batch, partial: "keep" });
  return {
    params,
    loss: (parameters: Traced<typeof params>, { ids, labels }: Labeled, context: LossContext) =>
      softmaxCrossEntropy(scores(parameters, ids, context), labels),
    batches: arrayDataset(examples("train"), {
      batch,
      epochs: Number.POSITIVE_INFINITY,
      shuffle: { seed },
    }),
    sample: (count: number) => ({
      ids: zeros([count, sequence], "i32"),
      labels: zeros([count], "i32"),
    }),
    judge: async (training: Trainer<typeof params, Labeled, Readonly<Record<never, never>>, never>) => {
      const evaluation = await training.evaluateAll(test, { metrics });
      return { name: "test accuracy", value: evaluation.metrics.accuracy };
    },
  };
}
