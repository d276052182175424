import type { Tensor } from "@mp/graph";

/**
 * A metric of a whole data set: what it takes of each batch, and what it makes of all of them. The functions of
 * `@mp/nn/metrics` return it; write your own for others. It has at least one tensor.
 */
export interface StreamedMetric<R = number> {
  /** Tensors that add up over batches, such as counts; added in f64 on the host. */
  readonly sums?: Readonly<Record<string, Tensor>>;
  /** Tensors that are appended batch after batch; the host keeps 8 bytes an element. */
  readonly rows?: Readonly<Record<string, Tensor>>;
  /** The metric of the whole set. It depends on its argument and on options, not on one batch. */
  readonly result: (values: StreamedValues) => R;
}

/** Numbers over all batches by the names of the sums and rows; f64, in row-major order. */
export type StreamedValues = Readonly<Record<string, Float64Array>>;

/** The metrics by name. */
export type StreamedMetrics = Readonly<Record<string, StreamedMetric<unknown>>>;

/**
 * The numbers of `K` by name, and what the metrics of `S` result in. One type over both: a trainer of metrics with names
 * then fits where one of any is taken.
 */
export type MetricsAnd<K extends string, S> = {
  readonly [N in K | keyof S]: N extends keyof S
    ? S[N] extends StreamedMetric<infer R>
      ? R
      : never
    : number;
};
