import type { Fed, Json, Trainer } from "@mp/core";
import type { CommonOptions } from "../common-flags.js";
import type { Progress } from "../progress.js";
import { type AppContext, UsageError } from "../run-app.js";
import { messageOf, RunReport } from "./run-report.js";

/** Where batches come from, and how to go on from a saved place; a `Dataset` of @mp/data is one. */
export interface BatchSource<B> {
  iterate(cursor?: Json): AsyncIterableIterator<B> & { readonly cursor: Json };
}

export interface TrainingLoop<P, B, M> {
  readonly training: Trainer<P, B, M>;
  /** Goes on for as long as the run does. */
  readonly batches: BatchSource<Fed<B>>;
  readonly options: CommonOptions;
  readonly context: AppContext;
  readonly label: string;
  /** Where this run's state is saved and taken from; given apart since `--compare` runs twice. */
  readonly save: string | undefined;
  readonly resume: string | undefined;
  /** Where the precision report of this run goes. */
  readonly report: string | undefined;
}

/** What a loop has to tell. */
export interface TrainingRecord {
  /** Steps since the very start. */
  readonly steps: number;
  readonly losses: readonly number[];
  readonly milliseconds: readonly number[];
  readonly applied: number;
  readonly skipped: number;
  readonly finalScale: number;
}

const SAVE_EVERY = 100;

/**
 * Trains to `--steps`, counted from the very start, or until Ctrl-C; saves as `--save` says. The precision report is
 * written in the end, also where a step fails.
 */
export async function train<P, B, M>(loop: TrainingLoop<P, B, M>): Promise<TrainingRecord> {
  const { training, options, context, save } = loop;
  const cursor = loop.resume === undefined ? undefined : await training.load(loop.resume);
  const batches = loop.batches.iterate(cursor ?? undefined);
  const start = (await training.counters()).iteration;
  if (start >= options.steps) {
    throw new UsageError(
      `--steps ${options.steps}: ${loop.resume ?? "the run"} stands at step ${start} already, ask for more`,
    );
  }
  const progress = context.progress({ label: loop.label, total: options.steps });
  const report = reportOf(loop, progress);
  const losses: number[] = [];
  const milliseconds: number[] = [];
  let skipped = (await training.counters()).skipped;
  let step = start;
  try {
    while (step < options.steps && !context.signal.aborted) {
      const window: Fed<B>[] = [];
      while (window.length < options.accumulate) {
        const next = await batches.next();
        if (next.done === true) break;
        window.push(next.value);
      }
      if (window.length < options.accumulate) break;
      report?.takes(window[0] as Fed<B>);
      const started = performance.now();
      const result = await training.step(...window);
      const took = performance.now() - started;
      milliseconds.push(took);
      losses.push(result.loss);
      step++;
      if (!result.applied) skipped++;
      progress.update({ step, loss: result.loss, scale: result.scale, skipped });
      await report?.took(step, result, window, took);
      if (save !== undefined && step % SAVE_EVERY === 0)
        await training.save(save, { cursor: batches.cursor });
    }
  } catch (error) {
    // What the run stumbled over is what the report is wanted for, and what is thrown in any case.
    await report?.write().catch((cause) => progress.note(`--report: not written: ${messageOf(cause)}`));
    throw error;
  } finally {
    // Batches may be made on a thread of their own, which ends with its iterator.
    await batches.return?.(undefined);
  }
  if (save !== undefined && step > start && step % SAVE_EVERY !== 0) {
    await training.save(save, { cursor: batches.cursor });
  }
  await report?.write();
  progress.end();
  const counters = await training.counters();
  return {
    steps: counters.iteration,
    losses,
    milliseconds,
    applied: counters.applied,
    skipped: counters.skipped,
    finalScale: counters.scale,
  };
}

function reportOf<P, B, M>(loop: TrainingLoop<P, B, M>, progress: Progress): RunReport<P, B, M> | undefined {
  const { training, report: path, context, label, options } = loop;
  if (path === undefined) return undefined;
  const title = `${context.name}, ${label}`;
  return new RunReport({ training, path, title, seed: options.seed, note: (line) => progress.note(line) });
}
