import { foldIn, type Key, type LossContext, type Tensor, type Traced, type Trainer, zeros } from "@mp/core";
import { softmaxCrossEntropy } from "@mp/nn";
import type { Options } from "../flags.js";
import { type Encoder, type EncoderOptions, type EncoderParameters, pieceHead } from "../model.js";
import type { Text } from "../text/load-text.js";
import { maskedBatches, predictionsPerSequence } from "../text/masked-batches.js";
import { cutSequences } from "../text/sequences.js";

export type Masked = { readonly ids: Tensor; readonly places: Tensor; readonly pieces: Tensor };

/** Seed of the choice of hidden pieces in held-out text, the same for every run. */
const JUDGING_SEED = 0;
/** Independent of `--batch`, so that the same held-out sequences are judged. */
const JUDGED_AT_ONCE = 16;

/** The masked language model, judged by exp of the mean cross entropy of hidden pieces in held-out text. */
export function maskedTask(
  { seed, batch, sequence }: Options,
  text: Text,
  model: { readonly encoder: Encoder; readonly options: EncoderOptions },
  start: { readonly key: Key; readonly encoder: EncoderParameters },
) {
  const head = pieceHead(model.options);
  const params = { encoder: start.encoder, head: head.init(foldIn(start.key, "head")) };
  const vocabulary = text.pieces.length;
  const sequences = (part: "train" | "valid") =>
    cutSequences(
      text.sources.map((source) => source[part]),
      sequence,
    );
  const valid = sequences("valid");
  const heldOut = maskedBatches(valid, {
    batch: Math.min(JUDGED_AT_ONCE, valid.count),
    vocabulary,
    seed: JUDGING_SEED,
    epochs: 1,
    shuffle: false,
  });
  return {
    params,
    loss: (parameters: Traced<typeof params>, { ids, places, pieces }: Masked, context: LossContext) => {
      const x = model.encoder.apply(parameters.encoder, ids, context);
      return softmaxCrossEntropy(
        head.apply(parameters.head, parameters.encoder.words.table, x, places),
        pieces,
      );
    },
    batches: maskedBatches(sequences("train"), {
      batch,
      vocabulary,
      seed,
      epochs: Number.POSITIVE_INFINITY,
      shuffle: true,
    }),
    sample: (count: number) => {
      const hidden = count * predictionsPerSequence(sequence);
      return {
        ids: zeros([count, sequence], "i32"),
        places: zeros([hidden], "i32"),
        pieces: zeros([hidden], "i32"),
      };
    },
    judge: async (training: Trainer<typeof params, Masked, Readonly<Record<never, never>>, never>) => {
      // Each sequence has the same number of hidden pieces.
      const { loss } = await training.evaluateAll(heldOut, { samples: ({ ids }) => ids.shape[0] ?? 0 });
      return { name: "perplexity of hidden pieces", value: Math.exp(loss) };
    },
  };
}
