import type { Tensor } from "@mp/graph";

/**
 * A metric of a whole data set: the statistics of a batch, and a function that turns the statistics of all batches into
 * the result. The functions of `@mp/nn/metrics` return such metrics; write your own for other metrics. `sums` and
 * `rows` must have at least one tensor between them.
 */
export interface StreamedMetric<R = number> {
  /** Tensors that are summed over batches, such as counts; in f64, on the host. */
  readonly sums?: Readonly<Record<string, Tensor>>;
  /** Tensors that are appended batch after batch; the host keeps 8 bytes for each element. */
  readonly rows?: Readonly<Record<string, Tensor>>;
  /** Computes the metric of the whole set from the collected values and options alone, not from any one batch. */
  readonly result: (values: StreamedValues) => R;
}

/** Values collected over all batches, by the names of the sums and rows: f64, in row-major order. */
export type StreamedValues = Readonly<Record<string, Float64Array>>;

/** Streamed metrics by name. */
export type StreamedMetrics = Readonly<Record<string, StreamedMetric<unknown>>>;

/**
 * Numbers named `K`, and the results of the metrics `S`. Both are in one type, so that a trainer of named metrics
 * fits where a trainer of any metrics is taken.
 */
export type MetricsAnd<K extends string, S> = {
  readonly [N in K | keyof S]: N extends keyof S
    ? S[N] extends StreamedMetric<infer R>
      ? R
      : never
    : number;
};
