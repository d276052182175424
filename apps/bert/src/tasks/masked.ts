import { foldIn, type Key, type LossContext, type Tensor, type Traced, type Trainer } from "@mp/core";
import { softmaxCrossEntropy } from "@mp/nn";
import type { Options } from "../flags.js";
import { type Encoder, type EncoderOptions, type EncoderParameters, pieceHead } from "../model.js";
import type { Text } from "../text/load-text.js";
import { maskedBatches } from "../text/masked-batches.js";
import { sequencesOf } from "../text/sequences.js";

export type Masked = { readonly ids: Tensor; readonly places: Tensor; readonly pieces: Tensor };

/** Which pieces of the held-out text are hidden is the same for every run. */
const JUDGING_SEED = 0;

/** The masked language model; judged by exp of the mean cross entropy of hidden pieces in held-out text. */
export function maskedTask(
  { seed, batch, sequence }: Options,
  text: Text,
  model: { readonly encoder: Encoder; readonly options: EncoderOptions },
  start: { readonly key: Key; readonly encoder: EncoderParameters },
) {
  const head = pieceHead(model.options);
  const params = { encoder: start.encoder, head: head.init(foldIn(start.key, "head")) };
  const vocabulary = text.pieces.length;
  const batchesOf = (part: "train" | "valid", own: { seed: number; epochs: number; shuffle: boolean }) =>
    maskedBatches(
      sequencesOf(
        text.sources.map((source) => source[part]),
        sequence,
      ),
      { batch, vocabulary, ...own },
    );
  const heldOut = batchesOf("valid", { seed: JUDGING_SEED, epochs: 1, shuffle: false });
  return {
    params,
    loss: (parameters: Traced<typeof params>, { ids, places, pieces }: Masked, context: LossContext) => {
      const x = model.encoder.apply(parameters.encoder, ids, context);
      return softmaxCrossEntropy(
        head.apply(parameters.head, parameters.encoder.words.table, x, places),
        pieces,
      );
    },
    batches: batchesOf("train", { seed, epochs: Number.POSITIVE_INFINITY, shuffle: true }),
    judge: async (training: Trainer<typeof params, Masked, Readonly<Record<never, never>>>) => {
      let sum = 0;
      let count = 0;
      for await (const data of heldOut) {
        sum += (await training.evaluate(data)).loss;
        count++;
      }
      return { name: "perplexity of hidden pieces", value: Math.exp(sum / count) };
    },
  };
}
