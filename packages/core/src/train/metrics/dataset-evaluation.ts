import type { MetricsAnd } from "./streamed-metric.js";

/** Loss and metrics over a whole data set: means over its samples, and what the streamed metrics result in. */
export interface DatasetEvaluation<K extends string = string, S = unknown> {
  /** Mean over the samples, summed in f64; not finite where that of a batch is not. */
  readonly loss: number;
  /** The `metrics` that the loss returned, means over the samples; and the streamed metrics. */
  readonly metrics: MetricsAnd<K, S>;
  /** The samples of all batches; their total weight where batches have weights. */
  readonly samples: number;
  readonly batches: number;
}
