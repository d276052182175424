import { type Run, trainerOptions } from "@mp/cli/training";
import {
  adam,
  chain,
  cosineDecay,
  foldIn,
  key,
  momentum,
  type Optimizer,
  type Tensor,
  trainer,
  warmup,
  weightDecay,
} from "@mp/core";
import { div } from "@mp/core/ops";
import type { Options } from "./flags.js";
import type { DetectorModel } from "./model.js";
import { multiboxLoss } from "./multibox-loss.js";

type SceneTensors = { readonly x: Tensor; readonly labels: Tensor; readonly offsets: Tensor };
export type Training = Awaited<ReturnType<typeof detectorTraining>>;

const EPSILON = 1e-8;
const rates: Readonly<Record<Options["optimizer"], number>> = { sgd: 0.02, adam: 0.002 };

/** Largest norm of all gradients together, beyond which they are clipped. */
const LARGEST_NORM = 10;

/**
 * The optimizer, with L2 weight decay and independent of the loss divisor. The learning rate warms up for a tenth of
 * all steps, then decays along a cosine.
 */
function scheduledOptimizer(options: Options): Optimizer {
  const { optimizer, steps, lossDivisor, learningRate: highest = rates[optimizer] } = options;
  const rising = Math.max(1, Math.round(steps / 10));
  const rate = (top: number) => warmup(rising, cosineDecay(top, { steps: Math.max(1, steps - rising) }));
  const last =
    optimizer === "sgd"
      ? momentum({ learningRate: rate(highest * lossDivisor), momentum: options.momentum })
      : adam({ learningRate: rate(highest), epsilon: EPSILON / lossDivisor });
  return chain(weightDecay(options.weightDecay / lossDivisor), last);
}

/** A trainer for the network. */
export function detectorTraining(model: DetectorModel, run: Run<Options>) {
  const { options } = run;
  return trainer({
    ...trainerOptions(run),
    params: model.init(foldIn(key(options.seed), "model")),
    modelState: model.initState(),
    loss: (parameters, batch: SceneTensors, context) => {
      const [predicted, modelState] = model.apply(parameters, batch.x, context);
      return { loss: div(multiboxLoss(predicted, batch), options.lossDivisor), modelState };
    },
    optimizer: scheduledOptimizer(options),
    // Early batches with many boxes have large gradients.
    clipNorm: LARGEST_NORM / options.lossDivisor,
  });
}
