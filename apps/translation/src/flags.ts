import { defineApp, integer, number, type OptionsOf, toggle } from "@mp/cli";
import { tableFlags } from "@mp/cli/training";

/** The translator's command line: the common flags and the sizes of the experiment. */
export const definition = defineApp({
  name: "translation",
  description: "Trains a Transformer to translate sentences, in mixed precision beside float32",
  defaults: { steps: 800 },
  flags: {
    layers: integer({ default: 2, help: "of the encoder, and of the decoder" }),
    size: integer({ default: 64, help: "width of the embeddings and layers" }),
    heads: integer({ default: 4, help: "of each attention; a divisor of the size" }),
    dropout: number({ default: 0, max: 0.9, help: "share of each layer's result that is dropped" }),
    batch: integer({ default: 32, help: "pairs of sentences in a step" }),
    learningRate: number({ default: 2e-3, help: "the highest, of AdamW" }),
    warmup: integer({
      default: 200,
      help: "steps until the learning rate is the highest; it falls from there",
    }),
    clip: number({ default: 1, help: "largest norm of all gradients together" }),
    pairs: integer({ default: 6000, help: "generated pairs to learn from" }),
    testPairs: integer({ default: 256, help: "pairs to be judged by, of word combinations never learned" }),
    vocab: integer({ default: 4000, min: 10, help: "words of each language with an id, in files" }),
    longest: integer({
      default: 24,
      min: 2,
      help: "words of a sentence; longer pairs of files are left out",
    }),
    ...tableFlags,
    table: toggle({
      help: "train in float32 and both mixed precisions over several seeds, and print the table",
    }),
  },
});

export type Options = OptionsOf<typeof definition>;
