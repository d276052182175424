/** Parts shared by the metrics of a whole data set. */

import { autocast, float32, MpError, type Tensor, type TensorTree } from "@mp/core";
import { formatShape } from "@mp/core/graph";
import {
  and,
  argMax,
  asTensor,
  cast,
  equal,
  expand,
  greaterOrEqual,
  lessOrEqual,
  literal,
  mul,
  not,
  reduceSum,
  reshape,
  where,
} from "@mp/core/ops";
import type { StreamedValues } from "@mp/core/report";
import { checks } from "@mp/graph/internal";
import { expectLabels } from "../check-tensor.js";
import { mismatch } from "../errors.js";
import { anything } from "../option-kinds.js";

/** Options for the weights of samples in a metric. */
export interface WeightOptions {
  /** The weight of each sample, a float or bool in the labels' shape; 0 for padding. Default: all 1. */
  readonly sampleWeights?: Tensor;
}

/** Options for the labels that count in a classification metric. */
export interface ClassOptions extends WeightOptions {
  /** Labels with this value do not count. */
  readonly ignoreIndex?: number;
}

export const classTable: Readonly<Record<keyof ClassOptions, checks.Check>> = {
  sampleWeights: anything,
  ignoreIndex: checks.optional(checks.integer()),
};

/** Options after reading, with undefined for missing ones. */
export type ReadValues<O> = { readonly [K in keyof O]: O[K] | undefined };

/** Computes statistics in f32 under any policy of the trainer, because in f16 a count would stop at 2048. */
export function inFloat32<T extends TensorTree>(statistics: () => T): T {
  return autocast(statistics, float32().policy)();
}

/** The scalar sum with this name; NaN if there is none. */
export const scalar = (values: StreamedValues, name: string): number => values[name]?.[0] ?? Number.NaN;

/** Sums x · w to an f32 scalar. Skips elements of weight 0, because 0 times a value that is not finite is NaN. */
export function weightedSum(x: Tensor, w: Tensor): Tensor {
  return reduceSum(mul(where(equal(w, 0), 0, x), w));
}

/** The total weight of elements outside low … high, an f32 scalar, for metrics to return as `outside`. */
export function outside(x: Tensor, [low, high]: readonly [number, number], w: Tensor): Tensor {
  const isInside = and(greaterOrEqual(x, low), lessOrEqual(x, high));
  return weightedSum(cast(not(isInside), "f32"), w);
}

/** @throws MP_OUT_OF_RANGE if `outside` is not 0: an element with weight was out of range */
export function expectInside(values: StreamedValues, message: string): void {
  if (scalar(values, "outside") === 0) return;
  throw new MpError("MP_OUT_OF_RANGE", message);
}

/** Flattens samples of the same shape to vectors [n], and their weights to f32 [n]. */
export function samples<K extends string>(
  what: string,
  given: Readonly<Record<K, Tensor>>,
  { sampleWeights }: ReadValues<WeightOptions>,
): Readonly<Record<K, Tensor>> & { readonly w: Tensor } {
  const entries = Object.entries<Tensor>(given);
  const [first] = entries as [[string, Tensor]];
  if (sampleWeights !== undefined) entries.push(["sampleWeights", sampleWeights]);
  for (const [name, value] of entries) {
    asTensor(value, `${what}: ${name}`);
    if (value.shape.join() === first[1].shape.join()) continue;
    throw mismatch(
      `${what}: ${first[0]} ${formatShape(first[1].shape)} and ${name} ${formatShape(value.shape)} differ in shape; reshape one of them`,
    );
  }
  const flat = Object.fromEntries(entries.map(([name, value]) => [name, reshape(value, [-1])]));
  const count = first[1].shape.reduce((product, size) => product * size, 1);
  const w =
    sampleWeights === undefined ? expand(literal(1), [count]) : cast(reshape(sampleWeights, [-1]), "f32");
  return { ...flat, w } as Readonly<Record<K, Tensor>> & { readonly w: Tensor };
}

/** Labels and predicted classes, i32 [n], and the weights of the samples, f32 [n]. */
export interface Classified {
  readonly labels: Tensor;
  readonly predicted: Tensor;
  readonly w: Tensor;
  /** [n, classes] */
  readonly logits: Tensor;
  readonly classes: number;
  /** The total weight of labels that are not classes. */
  readonly outside: Tensor;
}

/** @throws MP_INVALID_ARGUMENT for a value that is not a tensor, MP_SHAPE_MISMATCH for shapes that do not fit */
export function classify(
  what: string,
  logits: Tensor,
  labels: Tensor,
  options: ReadValues<ClassOptions>,
): Classified {
  const classes = expectLabels(what, logits, labels);
  const { labels: vector, w: own } = samples(what, { labels }, options);
  // An i64 label is compared before it is truncated to 32 bits.
  const flat = vector.dtype === "i64" ? vector : cast(vector, "i32");
  const rows = reshape(logits, [-1, classes]);
  const given = { predicted: argMax(rows), logits: rows, classes };
  // An ignored label need not be a class.
  const counts = options.ignoreIndex === undefined ? undefined : not(equal(flat, options.ignoreIndex));
  const w = counts === undefined ? own : mul(own, cast(counts, "f32"));
  const beyond = outside(flat, [0, classes - 1], w);
  const valid = cast(counts === undefined ? flat : where(counts, flat, 0), "i32");
  return { ...given, labels: valid, w, outside: beyond };
}

/** Makes the `result` of a classification metric. @throws MP_OUT_OF_RANGE for labels that are not classes */
export function ofClasses<R>(
  what: string,
  result: (values: StreamedValues) => R,
): (values: StreamedValues) => R {
  return (values) => {
    expectInside(
      values,
      `${what}: labels are outside the classes, which are counted from 0 by the last axis of the logits; correct them, or pass the ignoreIndex of those that do not count`,
    );
    return result(values);
  };
}
