import { decodeArray, type HostTensor, isFloat, type MpError } from "@mp/graph";
import { invalid } from "@mp/graph/internal";
import type { Outputs } from "../definition/outputs.js";
import type { StreamedMetric, StreamedValues } from "./streamed-metric.js";

export type MetricResults = readonly (readonly [name: string, result: StreamedMetric<unknown>["result"]])[];

/** Program output with the statistics, by metric, then `sums` or `rows`. */
export const STREAMED = "streamed";

/** Collects the statistics of all batches of one data set. */
export class MetricAccumulator {
  readonly #results: () => MetricResults;
  /** Collected values by metric and key: one array for a sum, one for each batch for rows. */
  readonly #values = new Map<string, Map<string, Float64Array[]>>();

  constructor(results: () => MetricResults) {
    this.#results = results;
  }

  /** Adds the outputs of a batch. */
  add(outputs: Outputs): void {
    for (const [place, value] of Object.entries(outputs)) {
      const [output, name = "", kind, key = ""] = place.split("/");
      if (output !== STREAMED) continue;
      const own = this.#values.get(name) ?? new Map<string, Float64Array[]>();
      this.#values.set(name, own);
      const numbers = readNumbers(value);
      const parts = own.get(key);
      if (parts === undefined) own.set(key, [numbers]);
      else if (kind === "rows") parts.push(numbers);
      else addTo(parts[0] as Float64Array, numbers, `${name}: the sum ${key}`);
    }
  }

  results(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(this.#results().map(([name, result]) => [name, result(this.#valuesOf(name))]));
  }

  #valuesOf(name: string): StreamedValues {
    return Object.fromEntries(
      [...(this.#values.get(name) ?? [])].map(([key, parts]) => [key, concatenate(parts)]),
    );
  }
}

function readNumbers({ dtype, data }: HostTensor): Float64Array {
  const values: Iterable<number | bigint> = isFloat(dtype) ? decodeArray(dtype, data as never) : data;
  return Float64Array.from(values, Number);
}

function addTo(sums: Float64Array, numbers: Float64Array, what: string): void {
  if (sums.length !== numbers.length) {
    throw invalidMetrics(
      `${what} has ${numbers.length} elements after ${sums.length} in earlier batches; what differs in size from batch to batch belongs in rows`,
    );
  }
  for (const [at, number] of numbers.entries()) sums[at] = (sums[at] as number) + number;
}

function concatenate(parts: readonly Float64Array[]): Float64Array {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return first;
  const all = new Float64Array(parts.reduce((total, { length }) => total + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export const invalidMetrics = (problem: string): MpError<"MP_INVALID_ARGUMENT"> =>
  invalid(`evaluateAll: metrics: ${problem}`);
