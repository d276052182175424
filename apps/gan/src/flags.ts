import { choice, defineApp, integer, number, type OptionsOf, text, toggle } from "@mp/cli";
import { seedsFlag } from "@mp/cli/training";

/** The two networks, in the order in which a step trains them. */
export const NETWORKS = ["discriminator", "generator"] as const;
export type Network = (typeof NETWORKS)[number];

/** The GAN's command line: the common flags and the sizes of the experiment. */
export const definition = defineApp({
  name: "gan",
  description:
    "Trains a DCGAN, each of its networks with its own loss scaler, in mixed precision beside float32",
  defaults: { steps: 600 },
  flags: {
    width: integer({ default: 16, help: "channels of the discriminator's first layer; 64 in the paper" }),
    batch: integer({ default: 32, help: "real pictures in a step, and as many made ones" }),
    noise: integer({ default: 64, help: "numbers that a picture is made of" }),
    size: integer({
      default: 16,
      min: 8,
      max: 64,
      help: "height and width of generated figures and of pictures, a multiple of 4",
    }),
    learningRate: number({ default: 5e-4, help: "of both networks' Adam" }),
    difficulty: number({ default: 0, max: 1, help: "of the generated figures" }),
    trainImages: integer({ default: 4000, help: "generated figures to learn from" }),
    testImages: integer({ default: 1000, help: "generated figures to compare with" }),
    discriminatorScale: number({ min: 1, help: "first scale of its dynamic loss scaler" }),
    generatorScale: number({ min: 1, help: "first scale of its dynamic loss scaler" }),
    overflow: choice([...NETWORKS, "none"], {
      default: "none",
      help: "make that network's loss infinite in the third step: its scaler backs off, the other's does not",
    }),
    samples: text({ argument: "FILE.png", help: "write a sheet of made pictures there" }),
    table: toggle({ help: "train in float32 and both mixed precisions, and print the table" }),
    seeds: seedsFlag("--table"),
  },
});

export type Options = OptionsOf<typeof definition>;
