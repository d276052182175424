import { defineApp, integer, number, type OptionsOf } from "@mp/cli";

/** The command line: the common flags, and the parameters of NNabla's updater that are not among them. */
export const definition = defineApp({
  name: "updater",
  description:
    "Trains with NNabla's dynamic loss scaling, in one call and step by step, and compares the bits",
  defaults: { steps: 200, onOverflow: "retry" },
  flags: {
    scalingFactor: number({ default: 2, help: "of the loss scale, on overflow and after the interval" }),
    scalingInterval: integer({ default: 2000, help: "finite updates in a row until the scale grows (N)" }),
    weightDecay: number({ default: 1e-4, help: "share of each weight that is added to its gradient" }),
    clip: number({ default: 1, help: "largest norm of all gradients together, after the weight decay" }),
    workers: integer({ default: 1, help: "that add their gradients; all but this one are simulated" }),
    learningRate: number({ default: 0.2, help: "of SGD with momentum" }),
    hidden: integer({ default: 32, help: "units of the hidden layer" }),
  },
});

export type Options = OptionsOf<typeof definition>;
