import type { ProgressDisplay } from "@mp/callbacks";
import type { Fed, FitCallback, FitStep, PrecisionReport, Trainer } from "@mp/core";
import type { HistoryStep, SkippedStep } from "@mp/report";
import { type RunResult, stepTimes } from "../result.js";
import type { AppContext } from "../run-app.js";
import { writeWhole } from "../write-whole.js";
import { errorMessage } from "./error-message.js";
import { sourceLine, withSourceLines } from "./source-lines.js";

export interface RunReportOptions<P, B, M> {
  readonly training: Trainer<P, B, M>;
  readonly path: string;
  readonly title: string;
  readonly seed: number;
  readonly progress: ProgressDisplay;
  readonly context: AppContext;
}

/** Replaying a skipped step takes as long as some steps; beyond this number the page only counts the skips. */
const MOST_REPLAYS = 20;

/** `--report`: collects the data of a run's precision report during training, and writes the page at its end. */
export class RunReport<P, B, M> implements FitCallback<string, Fed<B>> {
  readonly #options: RunReportOptions<P, B, M>;
  readonly #history: HistoryStep[] = [];
  readonly #skips: SkippedStep[] = [];
  readonly #milliseconds: number[] = [];
  #last: Fed<B> | undefined;
  #canReplay = true;
  #report: PrecisionReport | undefined;

  constructor(options: RunReportOptions<P, B, M>) {
    this.#options = options;
  }

  /** A skipped step is run again, to see what overflowed. */
  async onStep({
    step,
    loss,
    scale,
    applied,
    gradNorm,
    batches,
    milliseconds,
  }: FitStep<string, Fed<B>>): Promise<void> {
    this.#last = batches[0];
    this.#history.push({ step, loss, scale, applied, gradNorm });
    this.#milliseconds.push(milliseconds);
    if (applied || !this.#canReplay || this.#skips.length >= MOST_REPLAYS) return;
    try {
      const found = await this.#options.training.diagnose(batches, { scale });
      const overflow = found?.line === undefined ? found : { ...found, line: sourceLine(found.line) };
      this.#skips.push({ step, scale, overflow });
    } catch (error) {
      // A failure of the report must not end the run.
      this.#canReplay = false;
      this.#options.progress.note(`--report: skipped steps cannot be replayed: ${errorMessage(error)}`);
    }
  }

  /** Also where training failed: then the report is most useful. */
  onEnd(): Promise<void> {
    const { context, path, progress } = this.#options;
    return context.attempt(`--report ${path}`, async () => {
      if (this.#last === undefined) {
        progress.note(`--report ${path}: not written, the run made no step`);
        return;
      }
      const report = await this.#options.training.precisionReport(this.#last);
      this.#report = { ...report, casts: withSourceLines(report.casts) };
      await this.#write(this.#report);
      progress.note(`--report ${path}: written`);
    });
  }

  /** Writes the page again, with the run's metric in its head. */
  async conclude({ name, value }: RunResult["metric"]): Promise<void> {
    const { context, path } = this.#options;
    const report = this.#report;
    if (report === undefined) return;
    await context.attempt(`--report ${path}`, () =>
      this.#write(report, { [name]: String(Number(value.toPrecision(5))) }),
    );
  }

  async #write(report: PrecisionReport, results: Readonly<Record<string, string>> = {}): Promise<void> {
    const { path, title, seed } = this.#options;
    const { precisionReportPage } = await import("@mp/report");
    const facts: Record<string, string> = { seed: String(seed) };
    const loss = this.#history.at(-1)?.loss;
    const times = stepTimes(this.#milliseconds);
    if (times !== null) facts["median step"] = `${Number(times.median.toPrecision(3))} ms`;
    const page = precisionReportPage({
      title,
      report,
      history: this.#history,
      skips: this.#skips,
      results: {
        ...results,
        ...(loss === undefined ? {} : { "last loss": String(Number(loss.toPrecision(4))) }),
      },
      facts,
    });
    writeWhole(path, page);
  }
}
