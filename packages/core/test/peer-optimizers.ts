/** Optimizers and what PyTorch's make of given gradients in twelve steps, by the cases of fixtures/optimizers.py. */
import { readFileSync } from "node:fs";
import { adagrad } from "../src/optim/adagrad.js";
import { adam, adamW } from "../src/optim/adam.js";
import { chain } from "../src/optim/chain.js";
import type { Optimizer } from "../src/optim/optimizer.js";
import { rmsProp } from "../src/optim/rms-prop.js";
import { momentum, sgd } from "../src/optim/sgd.js";
import { weightDecay } from "../src/optim/weight-decay.js";

export type Rows = readonly (readonly number[])[];

interface Fixture {
  readonly start: readonly number[];
  readonly gradients: Rows;
  /** After each step, by case. */
  readonly weights: Readonly<Record<string, Rows>>;
  readonly clipByGlobalNorm: {
    readonly limit: number;
    readonly norms: readonly number[];
    readonly weights: Rows;
  };
  /** Two groups; also their exponential average. */
  readonly grouped: { readonly weights: Rows; readonly averages: Rows };
}

export const fixture: Fixture = JSON.parse(
  readFileSync(new URL("./fixtures/optimizers.json", import.meta.url), "utf8"),
) as Fixture;

export const optimizers: Readonly<Record<string, Optimizer>> = {
  sgd: sgd({ learningRate: 0.1 }),
  momentum: momentum({ learningRate: 0.1 }),
  nesterov: momentum({ learningRate: 0.1, momentum: 0.8, nesterov: true }),
  weightDecay: chain(weightDecay(0.05), momentum({ learningRate: 0.1 })),
  adagrad: adagrad({ learningRate: 0.1 }),
  adagradStarted: adagrad({ learningRate: 0.1, initialAccumulator: 0.1, epsilon: 1e-7 }),
  rmsProp: rmsProp({ learningRate: 0.01 }),
  rmsPropFast: rmsProp({ learningRate: 0.01, decay: 0.9, epsilon: 1e-6 }),
  adam: adam({ learningRate: 0.01 }),
  adamFast: adam({ learningRate: 0.1, beta1: 0.5, beta2: 0.9, epsilon: 1e-3 }),
  adamNoMomentum: adam({ learningRate: 0.01, beta1: 0, beta2: 0.99 }),
  adamW: adamW({ learningRate: 0.01 }),
  adamWStrong: adamW({ learningRate: 0.1, weightDecay: 0.2 }),
};
