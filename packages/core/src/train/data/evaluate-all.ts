/** Evaluates loss and metrics over a whole data set. */

import { checks, invalid, later, type OptionTable, readOptions, withDefault } from "@mp/graph/internal";
import type { FlatBatch } from "../batch/batch.js";
import { signalPart } from "../batch/check-parts.js";
import type { LossContext, Traced } from "../definition/loss.js";
import { evaluationIn, type Outputs } from "../definition/outputs.js";
import type { Evaluation } from "../definition/result.js";
import type { TrainingWarning } from "../definition/warning.js";
import type { DatasetEvaluation } from "../metrics/evaluation-result.js";
import type { MetricsFunction, TracedMetrics } from "../metrics/traced-metrics.js";
import type { WeightsChoice } from "../weights/average.js";
import { countBy, lossWeight, sampleCount } from "./sample-count.js";
import { openPass, type TrainingData, warnOfRest } from "./source.js";

/** Options of the evaluation of a data set; `T` is the type of the data's batches. */
export interface EvaluateAllOptions<M, T> extends WeightsChoice {
  /** Model state that each batch starts from, instead of the run's. */
  readonly modelState?: M;
  /**
   * The number of samples that a batch counts as. Default: the `weight` that the loss returns, else the sum of the
   * batch's `weights` (f32 [n]) if it has a tensor of this name, otherwise the first dimension, which all its tensors
   * must share; scalars do not matter.
   */
  readonly samples?: (batch: T) => number;
  /** Number of batches to evaluate, needed for endless data; default all. */
  readonly batches?: number;
  /** Rejects with the signal's reason after the current batch. */
  readonly signal?: AbortSignal;
}

/** Options of `evaluateAll`, with metrics of the whole set. */
export interface EvaluateAllMetricsOptions<P, B, M, T, S> extends EvaluateAllOptions<M, T> {
  /**
   * Metrics that are not means over batches: those of `@mp/nn/metrics`, or your own. They run under the casting policy,
   * in one program with the loss, compiled once per function object and batch shape.
   */
  readonly metrics?: (parameters: Traced<P>, batch: B, context: LossContext<Traced<M>>) => S;
}

/** The part of a run that evaluation needs. */
export interface EvaluatingRun {
  readonly take: (value: unknown, name?: string) => FlatBatch;
  /** Loss and metrics of a batch for each objective. */
  readonly evaluate: (
    batch: FlatBatch,
    model: FlatBatch | undefined,
    metrics: TracedMetrics | undefined,
  ) => Promise<readonly Outputs[]>;
  readonly traced: (metrics: MetricsFunction) => TracedMetrics;
  /** Yields to the event loop if it has waited long enough; otherwise returns undefined. */
  readonly breathe: () => Promise<void> | undefined;
  readonly warn: (warning: TrainingWarning) => void;
}

/** The options without static types of the trees. */
export interface AnyEvaluateAllOptions<T> extends EvaluateAllOptions<unknown, T> {
  readonly metrics?: MetricsFunction;
}

const EVALUATE_ALL = {
  weights: later,
  modelState: later,
  samples: checks.optional(checks.callback),
  batches: withDefault(Number.POSITIVE_INFINITY, checks.integer(1)),
  signal: checks.optional(signalPart),
  metrics: checks.optional(checks.callback),
} satisfies OptionTable<AnyEvaluateAllOptions<unknown>>;

/** Evaluates each objective over `data`, from the beginning. The run's position in its own data does not change. */
export async function evaluateAll<T>(
  run: EvaluatingRun,
  data: TrainingData<T>,
  options: AnyEvaluateAllOptions<T>,
): Promise<readonly DatasetEvaluation[]> {
  const hints = { example: "{ batches: 100 }" };
  const read = readOptions<AnyEvaluateAllOptions<T>, typeof EVALUATE_ALL>(
    "evaluateAll",
    options,
    EVALUATE_ALL,
    hints,
  );
  const { modelState, samples, signal } = read;
  const model = modelState === undefined ? undefined : run.take(modelState, "model");
  const traced = read.metrics && run.traced(read.metrics);
  const accumulator = traced?.accumulator();
  const means: Means[] = [];
  let batches = 0;
  const dropping = warnOfRest("evaluateAll", data);
  if (dropping !== undefined) run.warn(dropping);
  const source = await openPass(data, null, 0, "evaluateAll");
  try {
    while (batches < read.batches) {
      signal?.throwIfAborted();
      const batch = await source.next();
      if (batch === undefined) break;
      const fed = run.take(batch);
      const count = samples && countBy(samples, batch);
      const outputs = await run.evaluate(fed, model, traced);
      for (const [at, values] of outputs.entries()) {
        means[at] ??= new Means();
        means[at].add(values, count ?? lossWeight(values) ?? sampleCount(fed));
        accumulator?.add(values);
      }
      batches++;
      const due = run.breathe();
      if (due !== undefined) await due;
    }
  } finally {
    await source.close();
  }
  if (batches === 0) {
    throw invalid(
      "evaluateAll: the data gave no batches; a generator can be gone through only once, pass an array or a dataset",
    );
  }
  const streamed = accumulator?.results() ?? {};
  return means.map((mean) => {
    const { loss, metrics } = mean.result();
    const both = Object.keys(streamed).find((name) => Object.hasOwn(metrics, name));
    if (both !== undefined) {
      throw invalid(
        `evaluateAll: the loss returns a metric ${JSON.stringify(both)}, and so does metrics; give one of them another name`,
      );
    }
    return { loss, metrics: { ...metrics, ...streamed }, samples: mean.samples, batches };
  }) as readonly DatasetEvaluation[];
}

/** Means of scalars over samples, summed in f64. */
class Means {
  samples = 0;
  readonly #sums = new Map<string, number>();

  add(outputs: Outputs, count: number): void {
    this.samples += count;
    const { loss, metrics } = evaluationIn(outputs);
    for (const [name, value] of [["", loss] as const, ...Object.entries(metrics)]) {
      // A batch of padding alone has a loss of 0 / 0.
      this.#sums.set(name, (this.#sums.get(name) ?? 0) + (count === 0 ? 0 : count * value));
    }
  }

  result(): Evaluation {
    const means = [...this.#sums].map(([name, sum]) => [name, sum / this.samples] as const);
    const { "": loss = Number.NaN, ...metrics } = Object.fromEntries(means);
    return { loss, metrics };
  }
}
