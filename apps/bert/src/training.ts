import { type Run, trainerOptions } from "@mp/cli/training";
import { adamW, type HostTensor, type Trainer, type Tree, trainer, warmup } from "@mp/core";
import { linearSchedule } from "@mp/core/optim";
import type { Options } from "./flags.js";
import type { Task } from "./tasks/task.js";

/** Limits the gradients' global norm, as BERT's own training does. */
const CLIP_NORM = 1;

/** A trainer for the task, as the flags ask. */
export function openTraining<P extends Tree<HostTensor>, B>(
  { params, loss }: Task<P, B>,
  run: Pick<Run<Options>, "options" | "backend"> & Partial<Pick<Run<Options>, "context">>,
): Promise<Trainer<P, B, Readonly<Record<never, never>>>> {
  const optimizer = scheduledAdamW(run.options);
  return trainer<P, B>({ ...trainerOptions(run), params, loss, optimizer, clipNorm: CLIP_NORM });
}

/** AdamW whose learning rate warms up for a part of the steps, then decays to 0, both linearly. */
function scheduledAdamW({ steps, warmup: share, learningRate, weightDecay, states }: Options) {
  const rising = Math.max(1, Math.round(share * steps));
  const falling = linearSchedule(learningRate, 0, Math.max(1, steps - rising));
  return adamW({ learningRate: warmup(rising, falling), weightDecay, states });
}
