import { defineApp, integer, number, type OptionsOf } from "@mp/cli";

/** The quickstart's command line: without flags it computes what the first program of docs/install.md computes. */
export const definition = defineApp({
  name: "quickstart",
  description: "Trains a small network to tell whether a point's coordinates have the same sign",
  defaults: { steps: 200 },
  flags: {
    hidden: integer({ default: 32, help: "units of the hidden layer" }),
    learningRate: number({ default: 1e-2, help: "of AdamW" }),
  },
});

export type Options = OptionsOf<typeof definition>;
