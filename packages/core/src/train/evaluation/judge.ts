import { isFloat } from "../../dtype.js";
import { MpError } from "../../errors.js";
import { decodeArray } from "../../float-format/bits.js";
import type { HostTensor } from "../../host-tensor.js";
import { isPlainObject } from "../../plain-object.js";
import { shown } from "../../shown.js";
import type { TensorTree } from "../../trace/map-tensors.js";
import { isTensor } from "../../trace/tensor.js";
import { keyProblem } from "../../tree.js";
import { FunctionIds } from "../program/function-ids.js";
import type { LossContext } from "../step/loss.js";
import type { Outputs } from "../step/outputs.js";
import type { TrainingWarning } from "../warning.js";
import type { StreamedMetric, StreamedMetrics } from "./streamed-metric.js";

/** A user's function of streamed metrics, without static types of its trees. */
export type MetricsFunction = (
  parameters: TensorTree,
  batch: TensorTree,
  context: LossContext<TensorTree>,
) => StreamedMetrics;

type Results = readonly (readonly [name: string, result: StreamedMetric<unknown>["result"]])[];

/** The name of the program's output that holds the statistics. */
const JUDGED = "judged";
const KINDS = ["sums", "rows"] as const;

/** A function of streamed metrics, which is traced once per batch shape. */
export class Judge {
  /** Of the programs that have it. */
  readonly id: number;
  readonly #metrics: MetricsFunction;
  /** Of the latest trace; those of other batch shapes compute the same. */
  #results: Results = [];

  constructor(id: number, metrics: MetricsFunction) {
    this.id = id;
    this.#metrics = metrics;
  }

  /** The statistics of a batch, for tracing. @throws MP_INVALID_ARGUMENT for what is no metric */
  readonly statistics: (...given: Parameters<MetricsFunction>) => TensorTree = (...given) => {
    const metrics: unknown = this.#metrics(...given);
    if (!isPlainObject(metrics)) throw invalid(`returns metrics by name, got ${shown(metrics)}`);
    const checked = Object.entries(metrics).map(
      ([name, metric]) => [name, checkedMetric(name, metric)] as const,
    );
    this.#results = checked.map(([name, { result }]) => [name, result]);
    return Object.fromEntries(checked.map(([name, { sums = {}, rows = {} }]) => [name, { sums, rows }]));
  };

  /** Takes the batches of one data set. */
  start(): Judging {
    return new Judging(() => this.#results);
  }
}

/** The judges of a run by their functions. */
export class Judges {
  readonly #ids: FunctionIds;
  readonly #judges = new WeakMap<MetricsFunction, Judge>();

  constructor(warn: (warning: TrainingWarning) => void) {
    this.#ids = new FunctionIds("evaluateAll: metrics", warn);
  }

  of(metrics: MetricsFunction): Judge {
    const judge = this.#judges.get(metrics) ?? new Judge(this.#ids.idOf(metrics), metrics);
    this.#judges.set(metrics, judge);
    return judge;
  }
}

/** The statistics of one data set. */
export class Judging {
  readonly #results: () => Results;
  /** By place: one array for a sum, those of all batches for rows. */
  readonly #values = new Map<string, Float64Array[]>();

  constructor(results: () => Results) {
    this.#results = results;
  }

  /** Adds the outputs of a batch. */
  add(outputs: Outputs): void {
    for (const [place, value] of Object.entries(outputs)) {
      if (!place.startsWith(`${JUDGED}/`)) continue;
      const numbers = numbersOf(value);
      const [before] = this.#values.get(place) ?? [];
      if (before === undefined) this.#values.set(place, [numbers]);
      else if (place.split("/")[2] === "rows") this.#values.get(place)?.push(numbers);
      else addTo(before, numbers, place);
    }
  }

  results(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(this.#results().map(([name, result]) => [name, result(this.#valuesOf(name))]));
  }

  #valuesOf(name: string): Readonly<Record<string, Float64Array>> {
    const starts = KINDS.map((kind) => `${JUDGED}/${name}/${kind}/`);
    const own = [...this.#values].flatMap(([place, parts]) => {
      const start = starts.find((each) => place.startsWith(each));
      return start === undefined ? [] : [[place.slice(start.length), joined(parts)] as const];
    });
    return Object.fromEntries(own);
  }
}

function checkedMetric(name: string, metric: unknown): StreamedMetric<unknown> {
  const problem = keyProblem(name);
  if (problem !== undefined) throw invalid(`the name ${JSON.stringify(name)} ${problem}`);
  const { sums = {}, rows = {}, result } = (metric ?? {}) as Partial<StreamedMetric<unknown>>;
  if (isTensor(metric) || typeof result !== "function") {
    throw invalid(
      `${name} is a metric such as accuracy(…) of @mp/nn/metrics gives, { sums, rows, result }, got ${shown(metric)}; a scalar tensor is a metric of the loss: return { loss, metrics }`,
    );
  }
  const named = [...Object.entries(sums), ...Object.entries(rows)];
  for (const [key, value] of named) {
    const fault = keyProblem(key) ?? (isTensor(value) ? undefined : `is no tensor but ${shown(value)}`);
    if (fault !== undefined) throw invalid(`${name}: ${JSON.stringify(key)} ${fault}`);
  }
  if (named.length === 0) throw invalid(`${name} has neither sums nor rows`);
  const twice = Object.keys(sums).find((key) => Object.hasOwn(rows, key));
  if (twice !== undefined)
    throw invalid(`${name}: ${JSON.stringify(twice)} is both among its sums and its rows`);
  return { sums, rows, result };
}

function numbersOf({ dtype, data }: HostTensor): Float64Array {
  const values: Iterable<number | bigint> = isFloat(dtype) ? decodeArray(dtype, data as never) : data;
  return Float64Array.from(values, Number);
}

function addTo(sums: Float64Array, numbers: Float64Array, place: string): void {
  if (sums.length !== numbers.length) {
    const [, name, , key] = place.split("/");
    throw invalid(
      `${name}: the sum ${key} has ${numbers.length} elements after ${sums.length} in earlier batches; what differs in size from batch to batch belongs into rows`,
    );
  }
  for (const [at, number] of numbers.entries()) sums[at] = (sums[at] as number) + number;
}

function joined(parts: readonly Float64Array[]): Float64Array {
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

const invalid = (problem: string): MpError<"MP_INVALID_ARGUMENT"> =>
  new MpError("MP_INVALID_ARGUMENT", `evaluateAll: metrics: ${problem}`);
