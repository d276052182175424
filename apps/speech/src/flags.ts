import { defineApp, integer, number, type OptionsOf } from "@mp/cli";
import { tableFlags } from "@mp/cli/training";

/** The flags of the speech app: the common ones, and the sizes of the experiment. */
export const definition = defineApp({
  name: "speech",
  description: "Trains a recurrent network to write down speech, in mixed precision beside float32",
  defaults: { steps: 300 },
  flags: {
    cells: integer({ default: 64, help: "cells of each direction of each recurrent layer" }),
    layers: integer({ default: 2, help: "bidirectional recurrent layers" }),
    channels: integer({ default: 32, help: "channels of the convolution over time" }),
    mels: integer({ default: 40, min: 8, help: "filters of the features" }),
    batch: integer({ default: 16, help: "utterances in a step" }),
    learningRate: number({ default: 3e-3, help: "the highest, of Adam" }),
    clip: number({ default: 5, help: "largest norm of all gradients together" }),
    noise: number({ default: 0.8, help: "of the generated utterances, beside tones of about 1" }),
    trainUtterances: integer({ default: 1500, help: "generated utterances to learn from" }),
    testUtterances: integer({ default: 200, help: "generated utterances to be judged by" }),
    ...tableFlags,
  },
});

export type Options = OptionsOf<typeof definition>;
