import * as optim from "../src/entries/optim.js";
import type { Optimizer } from "../src/optim/optimizer.js";
import type { StateOptions } from "../src/optim/states/state-options.js";

const { adadelta, adafactor, adagrad, adam, adamW, adamax, ftrl, lamb, lars, lion } = optim;
const { momentum, muon, nadam, radam, rmsProp } = optim;

/** Makers of the optimizers that store state, by name, with as many slots as their options give. */
export const statefulOptimizers = {
  ...{ adadelta, adafactor, adagrad, adamW, adamax, ftrl, lamb, lars, lion, momentum, muon, nadam, radam },
  adam: (options: object) => adam({ ...options, learningRate: 0.1, amsgrad: true }),
  rmsProp: (options: object) => rmsProp({ ...options, learningRate: 0.1, momentum: 0.9, centered: true }),
} as Readonly<Record<string, (options: StateOptions & { readonly learningRate: number }) => Optimizer>>;
