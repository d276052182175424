import type { ProgressDisplay } from "@mp/callbacks";
import type { FitCallback } from "@mp/core";
import type { AppContext } from "../run-app.js";
import { errorMessage } from "./error-message.js";

export interface SaveOptions {
  readonly training: { save(path: string): Promise<void> };
  readonly path: string;
  readonly progress: ProgressDisplay;
  readonly context: AppContext;
}

const SAVE_EVERY = 100;

/**
 * Makes the callback of `--save`, which saves every 100 steps and at the end. If a file cannot be written, training
 * goes on, since it may have taken hours. With the option `save` of `fit`, training would end.
 */
export function saveCallback({ training, path, progress, context }: SaveOptions): FitCallback {
  return {
    onStep: async ({ step }) => {
      if (step % SAVE_EVERY !== 0) return;
      await training
        .save(path)
        .catch((error) => progress.note(`--save ${path}: not saved at step ${step}: ${errorMessage(error)}`));
    },
    onEnd: async ({ steps, made, ended }) => {
      if (ended === "failed" || made === 0) return;
      await context.attempt(`--save ${path}`, async () => {
        await training.save(path);
        progress.note(`--save ${path}: saved at step ${steps}`);
      });
    },
  };
}
