import {
  adagrad,
  adam,
  chain,
  cosineDecay,
  momentum,
  type Optimizer,
  type Schedule,
  warmup,
  weightDecay,
} from "@mp/core";
import type { Options } from "./flags.js";
import type { ModelName } from "./models/index.js";

type OptimizerName = Options["optimizer"];
type OptimizerOptions = Pick<
  Options,
  "model" | "optimizer" | "learningRate" | "momentum" | "weightDecay" | "steps"
>;

const resNets = (rate: number) => ({ resnet20: rate, resnet32: rate, resnet50: rate });

/** Learning rates that train each network well in a few hundred steps; without batch normalization they are lower. */
const rates: Readonly<Record<OptimizerName, Readonly<Record<ModelName, number>>>> = {
  sgd: { ...resNets(0.1), vgg: 0.03, alexnet: 0.02 },
  adagrad: { ...resNets(0.02), vgg: 0.02, alexnet: 0.005 },
  adam: { ...resNets(0.004), vgg: 0.002, alexnet: 0.001 },
};

const makers: Readonly<Record<OptimizerName, (rate: Schedule, options: OptimizerOptions) => Optimizer>> = {
  sgd: (learningRate, options) => momentum({ learningRate, momentum: options.momentum }),
  adagrad: (learningRate) => adagrad({ learningRate }),
  adam: (learningRate) => adam({ learningRate }),
};

/** The optimizer with L2 weight decay. The rate warms up for a twentieth of all steps, then decays along a cosine. */
export function scheduledOptimizer(options: OptimizerOptions): Optimizer {
  const { model, optimizer, steps, learningRate = rates[optimizer][model] } = options;
  const rising = Math.max(1, Math.round(steps / 20));
  const rate = warmup(rising, cosineDecay(learningRate, { steps: Math.max(1, steps - rising) }));
  return chain(weightDecay(options.weightDecay), makers[optimizer](rate, options));
}
