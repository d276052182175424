import { precisionOf, withHalfReductions } from "@mp/cli/training";
import {
  adamW,
  type Backend,
  type HostTensor,
  type Precision,
  type Trainer,
  type Tree,
  trainer,
  warmup,
} from "@mp/core";
import { linearSchedule } from "@mp/core/optim";
import type { Options } from "./flags.js";
import type { Task } from "./tasks/task.js";

/** Limits the gradients' global norm, as BERT's own training does. */
const CLIP_NORM = 1;

/** A trainer for the task, as the flags ask. */
export function trainingOf<P extends Tree<HostTensor>, B>(
  { params, loss }: Task<P, B>,
  options: Options,
  backend: Backend,
  signal?: AbortSignal,
): Promise<Trainer<P, B, Readonly<Record<never, never>>>> {
  const { seed, accumulate, onOverflow } = options;
  return trainer<P, B>({
    backend,
    params,
    loss,
    optimizer: optimizerOf(options),
    precision: ownPrecision(options, backend),
    clipNorm: CLIP_NORM,
    seed,
    accumulate,
    onOverflow,
    ...(signal === undefined ? {} : { signal }),
  });
}

function ownPrecision(options: Options, { manifest }: Backend): Precision {
  const precision = precisionOf(options, manifest);
  return options.halfReductions ? withHalfReductions(precision) : precision;
}

/** The learning rate rises for a share of the steps, then falls to 0, both linearly. */
function optimizerOf({ steps, warmup: share, learningRate, weightDecay, states }: Options) {
  const rising = Math.max(1, Math.round(share * steps));
  const falling = linearSchedule(learningRate, 0, Math.max(1, steps - rising));
  return adamW({ learningRate: warmup(rising, falling), weightDecay, states });
}
