import { choice, defineApp, integer, number, type OptionsOf, text, toggle } from "@mp/cli";
import { statesFlag, tableFlags } from "@mp/cli/training";

/** The flags of the bert app: the common ones, and the sizes of the experiment. */
export const definition = defineApp({
  name: "bert",
  description: "Trains a BERT encoder on text, in mixed precision beside float32",
  defaults: { steps: 500 },
  flags: {
    task: choice(["masked", "classify"], {
      default: "masked",
      help: "predict hidden word pieces, or tell the sources of the text apart",
    }),
    layers: integer({ default: 4, help: "encoder layers" }),
    size: integer({ default: 128, help: "width of the encoder" }),
    heads: integer({ default: 4, help: "attention heads; they divide --size" }),
    hidden: integer({ help: "width of the feed-forward networks; four times --size unless given" }),
    sequence: integer({ default: 64, min: 8, help: "word pieces of a sequence" }),
    batch: integer({ default: 32, help: "sequences of a microbatch; a step has --accumulate of them" }),
    vocab: integer({ default: 4000, min: 100, help: "word pieces" }),
    dropout: number({ default: 0.1, max: 0.9, help: "share of activations that are dropped" }),
    learningRate: number({ default: 1e-3, help: "the highest, of AdamW" }),
    warmup: number({ default: 0.1, max: 1, help: "share of the steps in which the learning rate rises" }),
    weightDecay: number({ default: 0.01, help: "of AdamW" }),
    states: statesFlag,
    from: text({ argument: "FILE", help: "start from the encoder of a checkpoint that --save wrote" }),
    memory: toggle({ help: "print the memory of each technique, estimated and measured" }),
    budget: text({ argument: "SIZE", help: "print the largest batch that fits, such as 2GiB" }),
    ...tableFlags,
  },
});

export type Options = OptionsOf<typeof definition>;
