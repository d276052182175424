import { isTensor, type TensorTree } from "@mp/graph";
import { isPlainObject, keyProblem, shown } from "@mp/graph/internal";
import type { LossContext } from "../definition/loss.js";
import { invalidMetrics, MetricAccumulator, type MetricResults } from "./metric-accumulator.js";
import type { StreamedMetric, StreamedMetrics } from "./streamed-metric.js";

/** A user's function that returns streamed metrics, without static types of its trees. */
export type MetricsFunction = (
  parameters: TensorTree,
  batch: TensorTree,
  context: LossContext<TensorTree>,
) => StreamedMetrics;

/** A function that returns streamed metrics, traced once per batch shape. */
export class TracedMetrics {
  /** Distinguishes the programs that compute this function's statistics. */
  readonly id: number;
  readonly #metrics: MetricsFunction;
  /** The results of the latest trace, which are the same functions for every batch shape. */
  #results: MetricResults = [];

  constructor(id: number, metrics: MetricsFunction) {
    this.id = id;
    this.#metrics = metrics;
  }

  /** The statistics of a batch, for tracing. @throws MP_INVALID_ARGUMENT for a value that is not a metric */
  readonly statistics: (...given: Parameters<MetricsFunction>) => TensorTree = (...given) => {
    const metrics: unknown = this.#metrics(...given);
    if (!isPlainObject(metrics)) throw invalidMetrics(`returns metrics by name, got ${shown(metrics)}`);
    const checked = Object.entries(metrics).map(
      ([name, metric]) => [name, checkMetric(name, metric)] as const,
    );
    this.#results = checked.map(([name, { result }]) => [name, result]);
    return Object.fromEntries(checked.map(([name, { sums = {}, rows = {} }]) => [name, { sums, rows }]));
  };

  /** A new accumulator for the batches of one data set. */
  accumulator(): MetricAccumulator {
    return new MetricAccumulator(() => this.#results);
  }
}

function checkMetric(name: string, metric: unknown): StreamedMetric<unknown> {
  const problem = keyProblem(name);
  if (problem !== undefined) throw invalidMetrics(`the name ${JSON.stringify(name)} ${problem}`);
  const { sums = {}, rows = {}, result } = (metric ?? {}) as Partial<StreamedMetric<unknown>>;
  if (isTensor(metric) || typeof result !== "function") {
    throw invalidMetrics(
      `${name} must be a metric such as accuracy(…) of @mp/nn/metrics gives, { sums, rows, result }, got ${shown(metric)}; a scalar tensor is a metric of the loss: return { loss, metrics }`,
    );
  }
  const named = [...Object.entries(sums), ...Object.entries(rows)];
  for (const [key, value] of named) {
    const fault = keyProblem(key) ?? (isTensor(value) ? undefined : `is no tensor but ${shown(value)}`);
    if (fault !== undefined) throw invalidMetrics(`${name}: ${JSON.stringify(key)} ${fault}`);
  }
  if (named.length === 0) throw invalidMetrics(`${name} has neither sums nor rows`);
  const twice = Object.keys(sums).find((key) => Object.hasOwn(rows, key));
  if (twice !== undefined)
    throw invalidMetrics(`${name}: ${JSON.stringify(twice)} is both among its sums and its rows`);
  return { sums, rows, result };
}
