import { defineApp, integer, number, type OptionsOf, text, toggle } from "@mp/cli";
import { ranksFlag, statesFlag } from "@mp/cli/training";

/** The word language model's command line: the common flags and the sizes of the experiment. */
export const definition = defineApp({
  name: "word-lm",
  description: "Trains a word language model of basic LSTM cells, in mixed precision beside float32",
  defaults: { steps: 1200 },
  flags: {
    layers: integer({ default: 2, help: "LSTM layers" }),
    batch: integer({ default: 20, help: "streams of text read side by side" }),
    cells: integer({ default: 200, help: "cells per layer, and the width of the embedding" }),
    sequence: integer({ default: 20, help: "words of truncated back-propagation" }),
    vocab: integer({ default: 4000, min: 10, help: "words with an id of their own; the rest share one" }),
    dropout: number({ default: 0, max: 0.99, help: "share of activations that are dropped between layers" }),
    learningRate: number({ default: 0.6, help: "of SGD with momentum" }),
    momentum: number({ default: 0.9, max: 1, help: "share of the velocity that is kept" }),
    decay: number({ default: 0.2, help: "what is left of the learning rate after an epoch, step by step" }),
    states: statesFlag,
    clip: number({ default: 5, help: "largest norm of all gradients together" }),
    profile: toggle({ help: "print the engine's time per operator" }),
    ranks: ranksFlag,
    sweep: text({ argument: "NAME=A,B,…", help: "run once for each value of seed, batch, cells or layers" }),
  },
});

export type Options = OptionsOf<typeof definition>;
