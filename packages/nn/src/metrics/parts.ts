/** What the metrics of a whole data set have in common. */
import { autocast, float32, MpError, type Tensor, type TensorTree } from "@mp/core";
import { checks } from "@mp/core/internal";
import { argMax, cast, equal, expand, literal, mul, not, reshape, where } from "@mp/core/ops";
import type { StreamedValues } from "@mp/core/report";
import { expectTensor } from "../check-tensor.js";

/** Which samples of a metric count. */
export interface WeightOptions {
  /** How much each sample counts, a float or bool of the labels' shape: 0 for padding. Default 1 for each. */
  readonly sampleWeights?: Tensor;
}

/** Which labels of a metric of classes count. */
export interface ClassOptions extends WeightOptions {
  /** Labels of this value do not count. */
  readonly ignoreIndex?: number;
}

/** A tensor is checked with the others. */
export const tensorOption: checks.Check = () => {};
export const classTable: Readonly<Record<keyof ClassOptions, checks.Check>> = {
  sampleWeights: tensorOption,
  ignoreIndex: checks.optional(checks.integer()),
};

/** Options that have been read. */
export type Given<O> = { readonly [K in keyof O]: O[K] | undefined };

/** Statistics in f32, whatever the policy of the trainer: a count in a half would end at 2048. */
export function inFloat32<T extends TensorTree>(statistics: () => T): T {
  return autocast(statistics, float32().policy)();
}

/** The number of a sum without dimensions. */
export const scalarOf = (values: StreamedValues, name: string): number => values[name]?.[0] ?? Number.NaN;

const shapeOf = ({ shape }: Tensor): string => `[${shape.join(", ")}]`;

/** Samples as vectors: their weights, f32 [n], and what else is given with the shape of the first one. */
export function samples<K extends string>(
  what: string,
  given: Readonly<Record<K, Tensor>>,
  { sampleWeights }: Given<WeightOptions>,
): Readonly<Record<K, Tensor>> & { readonly w: Tensor } {
  const entries = Object.entries<Tensor>(given);
  for (const [name, value] of entries) expectTensor(`${what}: ${name}`, value);
  const [first] = entries as [[string, Tensor]];
  if (sampleWeights !== undefined) entries.push(["sampleWeights", sampleWeights]);
  for (const [name, value] of entries) {
    expectTensor(`${what}: ${name}`, value);
    if (value.shape.join() === first[1].shape.join()) continue;
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `${what}: ${first[0]} ${shapeOf(first[1])} and ${name} ${shapeOf(value)} differ in shape; reshape one of them`,
    );
  }
  const flat = Object.fromEntries(entries.map(([name, value]) => [name, reshape(value, [-1])]));
  const count = first[1].shape.reduce((product, size) => product * size, 1);
  const w =
    sampleWeights === undefined ? expand(literal(1), [count]) : cast(reshape(sampleWeights, [-1]), "f32");
  return { ...flat, w } as Readonly<Record<K, Tensor>> & { readonly w: Tensor };
}

/** Labels and predicted classes, i32 [n], with the weights of those that count, f32 [n]. */
export interface Classified {
  readonly labels: Tensor;
  readonly predicted: Tensor;
  readonly w: Tensor;
  /** [n, classes] */
  readonly logits: Tensor;
  readonly classes: number;
}

/** @throws MP_INVALID_ARGUMENT for a value that is not a tensor, MP_SHAPE_MISMATCH for shapes that do not fit */
export function classified(
  what: string,
  logits: Tensor,
  labels: Tensor,
  options: Given<ClassOptions>,
): Classified {
  expectTensor(`${what}: logits`, logits);
  expectTensor(`${what}: labels`, labels);
  const classes = logits.shape.at(-1);
  if (classes === undefined || logits.shape.slice(0, -1).join() !== labels.shape.join()) {
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `${what}: logits ${shapeOf(logits)} take labels [${logits.shape.slice(0, -1).join(", ")}], got ${shapeOf(labels)}; the order is (logits, labels)`,
    );
  }
  const { labels: flat, w } = samples(what, { labels }, options);
  const given = cast(flat, "i32");
  const rows = reshape(logits, [-1, classes]);
  const predicted = argMax(rows);
  if (options.ignoreIndex === undefined) return { labels: given, predicted, w, logits: rows, classes };
  const counts = not(equal(given, options.ignoreIndex));
  // An ignored label need not be a class.
  const valid = where(counts, given, 0);
  return { labels: valid, predicted, w: mul(w, cast(counts, "f32")), logits: rows, classes };
}
