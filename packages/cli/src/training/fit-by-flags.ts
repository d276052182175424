import { join } from "node:path";
import { type ProgressDisplay, tensorBoard } from "@mp/callbacks";
import type { Fed, FitCallback, Trainer, TrainingData } from "@mp/core";
import type { CommonOptions } from "../common-flags.js";
import type { RunResult } from "../result.js";
import { UsageError } from "../run-app.js";
import type { Run } from "./run.js";
import { runReport } from "./run-report.js";
import { saveCallback } from "./saving.js";

export interface FitByFlags<P, B, M> extends Omit<Run<CommonOptions>, "backend"> {
  readonly training: Trainer<P, B, M>;
  /** Data that is endless, or at least as long as the run. */
  readonly batches: TrainingData<Fed<B>>;
}

/** Figures of a training run that an app reports. */
export interface TrainingRecord
  extends Pick<RunResult, "steps" | "applied" | "skipped" | "finalScale" | "loss"> {
  /** Duration of each step, in order. */
  readonly milliseconds: readonly number[];
  /** Writes the page of `--report` again, with the run's metric in its head. */
  readonly conclude?: (metric: RunResult["metric"]) => Promise<void>;
}

/**
 * Runs `fit` as the flags ask: from the checkpoint of `--resume`, to step `--steps` of the whole run or
 * Ctrl-C. Saves as `--save` says. Writes event files for TensorBoard to a subfolder of `--log` named after
 * the label and, at the end, even if a step fails, the page of `--report`. A checkpoint or page that cannot
 * be written does not end the run. @throws UsageError if no step is left; otherwise as `fit`
 */
export async function fitByFlags<P, B, M>(run: FitByFlags<P, B, M>): Promise<TrainingRecord> {
  const { training, batches, options, context, label } = run;
  const { steps, save, report, log } = options;
  const { skipped } = await begin(run);
  const progress = context.progress({ label, total: steps });
  const loss: number[] = [];
  const milliseconds: number[] = [];
  const recording: FitCallback = {
    onStep: (step) => {
      loss.push(step.loss);
      milliseconds.push(step.milliseconds);
    },
  };
  const callbacks: FitCallback<string, Fed<B>>[] = [recording, progressCallback(progress, skipped)];
  if (save !== undefined) callbacks.push(saveCallback({ training, path: save, progress, context }));
  const title = `${context.name}, ${label}`;
  const page =
    report === undefined
      ? undefined
      : runReport({ training, path: report, title, seed: options.seed, progress, context });
  if (page !== undefined) callbacks.push(page.callback);
  if (log !== undefined) callbacks.push(tensorBoard(join(log, label.replaceAll("/", "-"))));
  await training.fit(batches, { steps, callbacks });
  progress.end();
  const counters = await training.counters();
  return {
    steps: counters.iteration,
    applied: counters.applied,
    skipped: counters.skipped,
    finalScale: counters.scale,
    loss,
    milliseconds,
    ...(page === undefined ? {} : { conclude: page.conclude }),
  };
}

/** Loads the checkpoint of `--resume`. @throws UsageError if no step is left */
async function begin<P, B, M>({ training, options }: FitByFlags<P, B, M>): Promise<{ skipped: number }> {
  const { resume, steps } = options;
  if (resume !== undefined) await training.load(resume);
  const { iteration, skipped } = await training.counters();
  if (iteration < steps) return { skipped };
  throw new UsageError(
    `--steps ${steps}: ${resume ?? "the run"} stands at step ${iteration} already, ask for more`,
  );
}

/** Shows each step on the progress display. */
function progressCallback(progress: ProgressDisplay, skippedBefore: number): FitCallback {
  let skipped = skippedBefore;
  return {
    onStep: ({ step, loss, scale, applied }) => {
      if (!applied) skipped++;
      progress.update({ step, loss, scale, skipped });
    },
  };
}
