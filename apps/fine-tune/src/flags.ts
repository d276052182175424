import { choice, defineApp, integer, number, type OptionsOf, text, toggle } from "@mp/cli";
import { statesFlag } from "@mp/cli/training";

/** The flags of the fine-tuning app: the common ones, and those of the model, its adapters and the texts. */
export const definition = defineApp({
  name: "fine-tune",
  description: "Fine-tunes a language model of Hugging Face on texts of your own, with LoRA",
  defaults: { steps: 200 },
  flags: {
    model: text({
      argument: "FOLDER",
      help: "a model's folder, or its name on the hub; without it, a tiny one",
    }),
    texts: text({
      argument: "FILE",
      help: "texts to learn: JSONL, CSV or Parquet; without it, sums in words",
    }),
    heldOut: text({ argument: "FILE", help: "texts to measure; without it, the first ones that it learns" }),
    base: choice(["f32", "bf16", "int8", "nf4"], {
      default: "f32",
      help: "how the frozen weights are stored",
    }),
    loraRank: integer({ default: 8, min: 0, help: "rows of an adapter's matrices; 0 trains all weights" }),
    loraAlpha: number({ default: 16, help: "an adapter's product is multiplied by alpha / rank" }),
    targets: text({
      argument: "NAMES",
      help: "layers with adapters, such as q_proj,v_proj; without it, all linear ones",
    }),
    dropout: number({ default: 0, max: 0.99, help: "share of an adapter's input that is dropped" }),
    length: integer({ default: 64, help: "tokens of a row, which takes as many texts as fit" }),
    batch: integer({ default: 8, help: "rows of a batch" }),
    learningRate: number({ default: 5e-3, help: "of AdamW" }),
    states: statesFlag,
    adapter: text({ argument: "FOLDER", help: "write the adapter there, in the files of Python's peft" }),
    samples: integer({ default: 3, min: 0, help: "held-out texts that it ends after training" }),
    memory: toggle({ help: "print what a step needs, by kind, and train nothing" }),
  },
});

export type Options = OptionsOf<typeof definition>;
