import type { ProgressDisplay } from "@mp/callbacks";
import type { Fed, FitCallback, PrecisionReport, Trainer } from "@mp/core";
import type { HistoryStep, SkippedStep } from "@mp/report";
import { type RunResult, stepTimes } from "../result.js";
import type { AppContext } from "../run-app.js";
import { writeWhole } from "../write-whole.js";
import { errorMessage } from "./error-message.js";
import { presetRecipes } from "./precision.js";
import { sourceLine, withSourceLines } from "./source-lines.js";

export interface RunReportOptions<P, B, M> {
  readonly training: Trainer<P, B, M>;
  readonly path: string;
  readonly title: string;
  readonly seed: number;
  readonly progress: ProgressDisplay;
  readonly context: AppContext;
}

/** Limit of replays, since each takes as long as a few steps. Later skips are only counted. */
const MOST_REPLAYS = 20;

/** The page of `--report`. */
export interface RunReport<B> {
  /** Collects data during training, and writes the page at its end. */
  readonly callback: FitCallback<string, Fed<B>>;
  /** Writes the page again, with the run's metric in its head. */
  conclude(metric: RunResult["metric"]): Promise<void>;
}

export function runReport<P, B, M>(options: RunReportOptions<P, B, M>): RunReport<B> {
  const { training, path, title, seed, progress, context } = options;
  const history: HistoryStep[] = [];
  const skips: SkippedStep[] = [];
  const durations: number[] = [];
  let lastBatch: Fed<B> | undefined;
  let canReplay = true;
  let report: PrecisionReport | undefined;

  const write = async (
    written: PrecisionReport,
    results: Readonly<Record<string, string>>,
  ): Promise<void> => {
    const { precisionReportPage } = await import("@mp/report");
    const loss = history.at(-1)?.loss;
    const lastLoss = loss === undefined ? {} : { "last loss": String(Number(loss.toPrecision(4))) };
    const times = stepTimes(durations);
    const medianStep = times && { "median step": `${Number(times.median.toPrecision(3))} ms` };
    const page = precisionReportPage({
      title,
      report: written,
      history,
      skips,
      results: { ...results, ...lastLoss },
      facts: { seed: String(seed), ...medianStep },
    });
    writeWhole(path, page);
  };

  const callback: FitCallback<string, Fed<B>> = {
    /** Records a step; if it was skipped, runs it again to find out what overflowed. */
    async onStep({ step, loss, scale, applied, reason, gradNorm, weight, batches, milliseconds }) {
      lastBatch = batches[0];
      history.push({ step, loss, scale, applied, gradNorm, ...(weight === undefined ? {} : { weight }) });
      durations.push(milliseconds);
      if (applied || reason === "no weight" || !canReplay || skips.length >= MOST_REPLAYS) return;
      try {
        const found = await training.diagnose(batches, { scale });
        const overflow = found?.line === undefined ? found : { ...found, line: sourceLine(found.line) };
        skips.push({ step, scale, overflow });
      } catch (error) {
        // A failure of the report must not end the run.
        canReplay = false;
        progress.note(`--report: skipped steps cannot be replayed: ${errorMessage(error)}`);
      }
    },
    /** Writes the page, also after a failure, when it is most useful. */
    onEnd: () =>
      context.attempt(`--report ${path}`, async () => {
        if (lastBatch === undefined) {
          progress.note(`--report ${path}: not written, the run made no step`);
          return;
        }
        const { recipe } = training.precision;
        // Each recipe costs a compilation.
        const recipes = recipe === undefined ? [] : presetRecipes.filter(({ name }) => name !== recipe.name);
        const { casts, ...rest } = await training.precisionReport(lastBatch, { recipes });
        report = { ...rest, casts: withSourceLines(casts) };
        await write(report, {});
        progress.note(`--report ${path}: written`);
      }),
  };

  return {
    callback,
    async conclude({ name, value }) {
      if (report === undefined) return;
      const results = { [name]: String(Number(value.toPrecision(5))) };
      const written = report;
      await context.attempt(`--report ${path}`, () => write(written, results));
    },
  };
}
