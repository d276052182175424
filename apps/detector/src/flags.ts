import {
  choice,
  defineApp,
  type Flag,
  FlagError,
  integer,
  number,
  type OptionsOf,
  text,
  toggle,
} from "@mp/cli";
import { seedsFlag, tableFlags } from "@mp/cli/training";

const scales: Flag<readonly number[] | undefined> = {
  help: "train at each of these static loss scales, in float32 and with the dynamic one; print the table",
  argument: "S,S,…",
  default: undefined,
  parse: (value) => {
    const list = value.split(",").map(parseScale);
    if (list.some((scale) => !Number.isFinite(scale) || scale <= 0)) {
      throw new FlagError("expected numbers above 0 with commas between them, such as 1,8,2^10");
    }
    return list;
  },
};

/** Parses a number, or 2^k. */
function parseScale(text: string): number {
  const power = /^2\^(-?\d+)$/.exec(text.trim());
  if (power !== null) return 2 ** Number(power[1]);
  return text.trim() === "" ? Number.NaN : Number(text);
}

const OPTIMIZERS = ["sgd", "adam"] as const;

/** The detector's command line: the common flags and the sizes of the experiment. */
export const definition = defineApp({
  name: "detector",
  description: "Trains a small SSD to find figures in pictures, in mixed precision beside float32",
  defaults: { steps: 600 },
  flags: {
    width: integer({ default: 16, help: "channels of the stem" }),
    batch: integer({ default: 16, help: "images in a step" }),
    optimizer: choice(OPTIMIZERS, { default: "sgd", help: "with momentum, or one that adapts its rates" }),
    learningRate: number({ help: "the highest; without it, what suits the optimizer" }),
    momentum: number({ default: 0.9, max: 0.999, help: "share of the velocity that sgd keeps" }),
    weightDecay: number({ default: 1e-4, help: "share of each weight that is added to its gradient" }),
    lossDivisor: number({
      default: 1,
      min: 1,
      help: "divide the loss, as a mean over more would, and have the optimizer make up for it",
    }),
    difficulty: number({ default: 0.1, max: 1, help: "of the generated images" }),
    trainImages: integer({ default: 2000, help: "generated images to learn from" }),
    testImages: integer({ default: 200, help: "generated images to be judged by" }),
    size: integer({
      default: 64,
      min: 32,
      max: 256,
      help: "height and width of the images, a multiple of 16",
    }),
    draw: text({ argument: "DIR", help: "write a few test images with the boxes found" }),
    histogram: toggle({ help: "print the gradients by their exponents, as they are at the end" }),
    halfReductions: tableFlags.halfReductions,
    scales,
    ablation: tableFlags.ablation,
    seeds: seedsFlag("--scales and --ablation"),
  },
});

export type Options = OptionsOf<typeof definition>;
