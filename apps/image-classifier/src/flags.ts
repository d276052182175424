import { choice, defineApp, integer, number, type OptionsOf, toggle } from "@mp/cli";
import { tableFlags } from "@mp/cli/training";
import { MODELS } from "./models/index.js";

/** The image classifier's command line: the common flags and the sizes of the experiment. */
export const definition = defineApp({
  name: "image-classifier",
  description: "Trains convolution networks to classify images, in mixed precision beside float32",
  defaults: { steps: 600 },
  flags: {
    model: choice(MODELS, { default: "resnet20", help: "the network" }),
    optimizer: choice(["sgd", "adagrad", "adam"], {
      default: "sgd",
      help: "with momentum, or one that adapts its rates",
    }),
    width: integer({ default: 8, help: "channels of the first stage; 16 in the papers" }),
    batch: integer({ default: 32, help: "images in a step" }),
    learningRate: number({ help: "the highest; without it, what suits network and optimizer" }),
    momentum: number({ default: 0.9, max: 0.999, help: "share of the velocity that sgd keeps" }),
    weightDecay: number({ default: 1e-4, help: "share of each weight that is added to its gradient" }),
    difficulty: number({ default: 0.2, max: 1, help: "of the generated images" }),
    trainImages: integer({ default: 8000, help: "generated images to learn from" }),
    testImages: integer({ default: 2000, help: "generated images to be judged by" }),
    size: integer({
      default: 32,
      min: 16,
      max: 256,
      help: "height and width of generated images and of pictures",
    }),
    prefetch: integer({ default: 2, min: 0, help: "batches made ahead on a thread of their own" }),
    manual: toggle({ help: "cast by hand, as in MXNet, instead of by a policy; with a mixed precision" }),
    ...tableFlags,
    table: toggle({
      help: "train several networks in float32 and both mixed precisions, and print the table",
    }),
  },
});

export type Options = OptionsOf<typeof definition>;
