import { defineApp, integer, number, type OptionsOf, toggle } from "@mp/cli";
import { BATCH, LEARNING_RATE } from "./training.js";

export const definition = defineApp({
  name: "browser",
  description:
    "The page's training in Node, which goes on from the page's checkpoints; --serve shows the page",
  defaults: { steps: 200 },
  flags: {
    serve: toggle({ help: "serve the page on this machine instead of training, until Ctrl-C" }),
    port: integer({ default: 8080, min: 0, max: 65_535, help: "of the page, 0 for any that is free" }),
    batch: integer({ default: BATCH, help: "images in a batch" }),
    learningRate: number({ default: LEARNING_RATE, help: "of AdamW" }),
  },
});

export type Options = OptionsOf<typeof definition>;
