import { type HostTensor, isHostTensor, type Shape, tensor } from "@mp/core";
import { formatShape, hostArrayOf } from "@mp/core/graph";
import { shapeMismatch, shown } from "@mp/graph/internal";
import { type BatchingOptions, batching, batchingChecks } from "./batching.js";
import { claim, oneOf, optional, optionsCheck } from "./check-arguments.js";
import { type Dataset, indexedDataset } from "./dataset.js";
import { datasetSignature } from "./dataset-signature.js";
import { invalid } from "./errors.js";

export interface ArrayDatasetOptions extends Omit<BatchingOptions, "partial"> {
  /**
   * What to do with the last, smaller batch of an epoch: `drop` (default) leaves it out, `keep` returns it smaller,
   * which is one more shape to compile, `pad` repeats its last example. With `pad` every batch has `weights`, f32 of
   * shape [batch], 1 for an example and 0 for padding, for the option `sampleWeights` of losses and metrics.
   */
  readonly partial?: "drop" | "keep" | "pad";
}

/** A batch: rows of each tensor, and with `pad` their weights. */
export type ArrayBatch<T, O> = {
  readonly [K in keyof T]: T[K] extends HostTensor ? HostTensor<T[K]["dtype"]> : never;
} & (O extends { readonly partial: "pad" } ? { readonly weights: HostTensor<"f32"> } : unknown);

const checkOptions = optionsCheck<ArrayDatasetOptions>(
  { ...batchingChecks, partial: optional(oneOf("drop", "keep", "pad")) },
  "{ batch: 32 }",
);
const checkExamples = claim(
  "an object of tensors by name, such as { x, y }",
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);

/**
 * Makes batches of examples held in memory: named tensors whose first dimension counts the examples. `arrayDataset({
 * x, y }, { batch: 32 })` yields `{ x, y }` of 32 examples each. The data is hashed once, so that a cursor for other
 * data of the same shape is refused.
 * @throws MP_INVALID_ARGUMENT for an unknown option, such as `batchSize` for `batch`
 * @throws MP_INVALID_ARGUMENT if there are fewer examples than a batch needs
 * @throws MP_SHAPE_MISMATCH if the tensors hold different numbers of examples
 */
export function arrayDataset<
  const T extends Readonly<Record<string, HostTensor>>,
  const O extends ArrayDatasetOptions,
>(examples: T, options: O): Dataset<ArrayBatch<T, O>> {
  checkOptions("arrayDataset", options);
  const { partial = "drop" } = options;
  const count = countExamples(examples);
  const isPadded = partial === "pad";
  if (isPadded && Object.hasOwn(examples, "weights"))
    throw invalid(
      'arrayDataset: with partial: "pad" the batches get weights, and there is a tensor of this name; give it another one',
    );
  const { batchesPerEpoch, signed, examplesAt, dropped } = batching("arrayDataset", count, {
    ...options,
    partial: isPadded ? "keep" : partial,
  });
  return indexedDataset({
    signature: datasetSignature("arrays", { examples, ...signed, partial }),
    batchesPerEpoch,
    dropped,
    epochs: options.epochs ?? 1,
    batch: (position) =>
      takeBatch(examplesAt(position), isPadded ? options.batch : undefined, (rows) =>
        Object.entries(examples).map(([name, source]) => [name, takeRows(source, rows)]),
      ) as ArrayBatch<T, O>,
  });
}

/** Takes the rows `own` of each column. With `paddedTo`, repeats the last row up to that number and adds `weights`. */
export function takeBatch(
  own: readonly number[],
  paddedTo: number | undefined,
  take: (rows: readonly number[]) => readonly (readonly [name: string, column: HostTensor])[],
): object {
  if (paddedTo === undefined) return Object.fromEntries(take(own));
  // Repeats the last row, because unlike zeros it is as safe in a model as the examples.
  const rows = Array.from({ length: paddedTo }, (_, row) => own[Math.min(row, own.length - 1)] as number);
  const weights = tensor(Float32Array.from(rows, (_, row) => Number(row < own.length)));
  return Object.fromEntries([...take(rows), ["weights", weights]]);
}

function countExamples(examples: Readonly<Record<string, HostTensor>>): number {
  checkExamples("arrayDataset: tensors", examples);
  const entries = Object.entries(examples);
  const [first] = entries;
  if (first === undefined) throw invalid("arrayDataset: no tensors, pass at least one by name");
  for (const [name, value] of entries) {
    if (isHostTensor(value)) continue;
    throw invalid(
      `arrayDataset: ${name} must be a tensor of the host, got ${shown(value)}; make it with tensor(…)`,
    );
  }
  const count = first[1].shape[0];
  for (const [name, { shape }] of entries) {
    if (shape[0] === undefined || shape[0] !== count) {
      throw shapeMismatch(
        `arrayDataset: the first dimension counts the examples, ${first[0]} is ${formatShape(first[1].shape)} and ${name} is ${formatShape(shape)}`,
      );
    }
  }
  return count ?? 0;
}

export function takeRows(source: HostTensor, rows: readonly number[]): HostTensor {
  const { dtype, shape, data } = source;
  const rest = shape.slice(1);
  const stride = sizeOf(rest);
  const parts = rows.map((row) => data.subarray(row * stride, (row + 1) * stride));
  return stack(dtype, rest, parts);
}

const sizeOf = (shape: Shape): number => shape.reduce((product, dimension) => product * dimension, 1);

/** Stacks data of at most this shape each to one tensor; `padding` follows where a part is shorter. */
export function stack(
  dtype: HostTensor["dtype"],
  shape: Shape,
  parts: readonly HostTensor["data"][],
  padding = 0,
): HostTensor {
  const stride = sizeOf(shape);
  // All arrays are of the class that stores this dtype; the union of classes hides it from `fill` and `set`.
  const data = new hostArrayOf[dtype](parts.length * stride) as Uint8Array;
  if (padding !== 0) data.fill((dtype === "i64" ? BigInt(padding) : padding) as number);
  for (const [at, part] of parts.entries()) data.set(part as Uint8Array, at * stride);
  return { dtype, shape: [parts.length, ...shape], data } as HostTensor;
}
