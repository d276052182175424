import type { MetricsAnd } from "./streamed-metric.js";

/** Loss and metrics over a whole data set: means over its samples, and the results of streamed metrics. */
export interface DatasetEvaluation<K extends string = string, S = unknown> {
  /** Mean over the samples, summed in f64; not finite if a batch's loss is not. */
  readonly loss: number;
  /** The loss's `metrics` as means over the samples, and the results of streamed metrics. */
  readonly metrics: MetricsAnd<K, S>;
  /** Number of samples in all batches, or their total weight if batches have weights. */
  readonly samples: number;
  readonly batches: number;
}
