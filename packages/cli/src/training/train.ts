import type { Fed, Trainer } from "@mp/core";
import type { Json } from "@mp/core/internal";
import type { CommonOptions } from "../common-flags.js";
import type { Progress } from "../progress.js";
import { type AppContext, UsageError } from "../run-app.js";
import { batchWindow } from "./batch-window.js";
import { messageOf } from "./message-of.js";
import { RunReport } from "./run-report.js";

/** A source of batches that can resume from a saved position; a `Dataset` of @mp/data is one. */
export interface BatchSource<B> {
  iterate(cursor?: Json): AsyncIterableIterator<B> & { readonly cursor: Json };
}

export interface TrainingLoop<P, B, M> {
  readonly training: Trainer<P, B, M>;
  /** Endless, or at least as long as the run. */
  readonly batches: BatchSource<Fed<B>>;
  readonly options: CommonOptions;
  readonly context: AppContext;
  readonly label: string;
}

/** What a training loop reports. */
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
 * written at the end, even where a step fails. A file that cannot be written does not end the run.
 */
export async function train<P, B, M>(loop: TrainingLoop<P, B, M>): Promise<TrainingRecord> {
  const { training, options, context } = loop;
  const { save, accumulate } = options;
  const { start, ...begun } = await begin(loop);
  let { cursor, skipped } = begun;
  const batches = loop.batches.iterate(cursor ?? undefined);
  const progress = context.progress({ label: loop.label, total: options.steps });
  const report = reportOf(loop, progress);
  const writeReport = async (): Promise<void> => {
    if (report !== undefined) await context.attempt(`--report ${options.report}`, () => report.write());
  };
  const losses: number[] = [];
  const milliseconds: number[] = [];
  let step = start;
  try {
    while (step < options.steps) {
      const window = await batchWindow(batches, accumulate, context.signal);
      if (window === undefined) break;
      report?.beforeStep(window[0] as Fed<B>);
      const started = performance.now();
      const result = await training.step(...window).catch(nothingIfStopped(context.signal));
      if (result === undefined) break;
      const elapsed = performance.now() - started;
      milliseconds.push(elapsed);
      losses.push(result.loss);
      step++;
      // Not the position after batches that were taken for an unfinished step.
      cursor = batches.cursor;
      if (!result.applied) skipped++;
      progress.update({ step, loss: result.loss, scale: result.scale, skipped });
      await report?.afterStep({ step, result, batches: window, milliseconds: elapsed });
      if (save === undefined || step % SAVE_EVERY !== 0) continue;
      await training
        .save(save, { cursor })
        .catch((error) => progress.note(`--save ${save}: not saved at step ${step}: ${messageOf(error)}`));
    }
  } catch (error) {
    // The report is most useful for a failed run, whose error is thrown in any case.
    await writeReport();
    throw error;
  } finally {
    // Batches may be made on a separate thread, which ends with its iterator.
    await batches.return?.(undefined);
  }
  if (save !== undefined && step > start) {
    await context.attempt(`--save ${save}`, async () => {
      await training.save(save, { cursor: cursor ?? null });
      progress.note(`--save ${save}: saved at step ${step}`);
    });
  }
  await writeReport();
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

/**
 * Where a run starts: from the `--resume` checkpoint, or from the beginning. @throws UsageError where no step is left
 */
async function begin<P, B, M>({ training, options }: TrainingLoop<P, B, M>) {
  const { resume, steps } = options;
  const cursor = resume === undefined ? undefined : await training.load(resume);
  const { iteration: start, skipped } = await training.counters();
  if (start >= steps) {
    throw new UsageError(
      `--steps ${steps}: ${resume ?? "the run"} stands at step ${start} already, ask for more`,
    );
  }
  return { start, skipped, cursor };
}

/** A window aborted between two microbatches is not a failure. */
function nothingIfStopped(signal: AbortSignal): (error: unknown) => undefined {
  return (error) => {
    if (signal.aborted && error === signal.reason) return undefined;
    throw error;
  };
}

function reportOf<P, B, M>(loop: TrainingLoop<P, B, M>, progress: Progress): RunReport<P, B, M> | undefined {
  const { training, context, label, options } = loop;
  const { report: path } = options;
  if (path === undefined) return undefined;
  const title = `${context.name}, ${label}`;
  return new RunReport({ training, path, title, seed: options.seed, note: (line) => progress.note(line) });
}
