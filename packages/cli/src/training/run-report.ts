import type { Fed, StepResult, Trainer } from "@mp/core";
import type { HistoryStep, SkippedStep } from "@mp/report";
import { stepTimes } from "../result.js";
import { writeWhole } from "../write-whole.js";
import { messageOf } from "./message-of.js";

export interface RunReportOptions<P, B, M> {
  readonly training: Trainer<P, B, M>;
  readonly path: string;
  readonly title: string;
  readonly seed: number;
  /** Called with what could not be determined. */
  readonly note: (line: string) => void;
}

interface TakenStep<B> {
  readonly step: number;
  readonly result: StepResult;
  /** Its microbatches. */
  readonly batches: readonly Fed<B>[];
  readonly milliseconds: number;
}

/** Replaying a skipped step takes as long as some steps; beyond this number the page only counts the skips. */
const MOST_REPLAYS = 20;

/** Collects the data of a run's precision report during training, and writes the page at its end. */
export class RunReport<P, B, M> {
  readonly #options: RunReportOptions<P, B, M>;
  readonly #history: HistoryStep[] = [];
  readonly #skips: SkippedStep[] = [];
  readonly #milliseconds: number[] = [];
  #last: Fed<B> | undefined;
  #canReplay = true;

  constructor(options: RunReportOptions<P, B, M>) {
    this.#options = options;
  }

  /** Called with the first batch of each step: the report uses the last one. */
  beforeStep(batch: Fed<B>): void {
    this.#last = batch;
  }

  /** Must be awaited before the next step: a skipped step is run again, to see what overflowed. */
  async afterStep({ step, result, batches, milliseconds }: TakenStep<B>): Promise<void> {
    const { loss, scale, applied } = result;
    this.#history.push({ step, loss, scale, applied });
    this.#milliseconds.push(milliseconds);
    if (applied || !this.#canReplay || this.#skips.length >= MOST_REPLAYS) return;
    try {
      const overflow = await this.#options.training.replay(batches, { scale });
      this.#skips.push({ step, scale, overflow });
    } catch (error) {
      // A failure of the report must not end the run.
      this.#canReplay = false;
      this.#options.note(`--report: skipped steps cannot be replayed: ${messageOf(error)}`);
    }
  }

  /** Writes the page; a run without any batch has none. */
  async write(): Promise<void> {
    const { training, path, title, seed, note } = this.#options;
    if (this.#last === undefined) {
      note(`--report ${path}: not written, the run took no batch`);
      return;
    }
    const report = await training.precisionReport(this.#last);
    const { precisionReportPage } = await import("@mp/report");
    const facts: Record<string, string> = { seed: String(seed) };
    const loss = this.#history.at(-1)?.loss;
    if (loss !== undefined) facts["last loss"] = String(Number(loss.toPrecision(4)));
    const times = stepTimes(this.#milliseconds);
    if (times !== null) facts["median step"] = `${Number(times.median.toPrecision(3))} ms`;
    const page = precisionReportPage({ title, report, history: this.#history, skips: this.#skips, facts });
    writeWhole(path, page);
    note(`--report ${path}: written`);
  }
}
