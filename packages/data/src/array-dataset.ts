import { formatShape, type HostTensor, hostArrayOf, isHostTensor, MpError, shown } from "@mp/core";
import { claim, integer, oneOf, optional, optionsOf, passes, shuffling } from "./check-arguments.js";
import { type Dataset, indexedDataset } from "./dataset.js";
import { datasetSignature } from "./dataset-signature.js";
import { permutation, randomStream } from "./random.js";

export interface ArrayDatasetOptions {
  readonly batch: number;
  /** Passes over the data: 1 unless given, `Infinity` to go on until the consumer stops. */
  readonly epochs?: number;
  /** The examples of each epoch come in an order of their own, drawn from this seed; without it, as they are. */
  readonly shuffle?: { readonly seed: number };
  /** What becomes of the last, smaller batch of an epoch: dropped unless `"keep"` is given. */
  readonly partial?: "drop" | "keep";
}

const checkOptions = optionsOf<ArrayDatasetOptions>(
  {
    batch: integer(1),
    epochs: optional(passes),
    shuffle: optional(shuffling),
    partial: optional(oneOf("drop", "keep")),
  },
  "{ batch: 32 }",
);
const checkExamples = claim(
  "an object of tensors by name, such as { x, y }",
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);

/**
 * Batches of examples held in memory: tensors whose first dimension counts the examples, by name.
 * `arrayDataset({ x, y }, { batch: 32 })` yields `{ x, y }` of 32 examples each. The data is hashed once, so that a
 * cursor is not taken for one of other data of the same shape.
 * @throws MP_INVALID_ARGUMENT for an option that there is not, such as `batchSize` for `batch`
 * @throws MP_INVALID_ARGUMENT when there are fewer examples than one batch takes
 * @throws MP_SHAPE_MISMATCH when the tensors hold different numbers of examples
 */
export function arrayDataset<const T extends Readonly<Record<string, HostTensor>>>(
  examples: T,
  options: ArrayDatasetOptions,
): Dataset<{ readonly [K in keyof T]: HostTensor<T[K]["dtype"]> }> {
  checkOptions("arrayDataset", options);
  const { batch, epochs = 1, shuffle, partial = "drop" } = options;
  const count = countExamples(examples);
  const batchesPerEpoch = partial === "keep" ? Math.ceil(count / batch) : Math.floor(count / batch);
  if (batchesPerEpoch < 1) {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `arrayDataset: a batch of ${batch} is larger than the data, ${count} examples; use a smaller batch${count > 0 ? ' or partial: "keep"' : ""}`,
      { details: { batch, examples: count } },
    );
  }
  // One epoch's order at a time; it is drawn again when a cursor points elsewhere.
  let drawn: { readonly epoch: number; readonly order: Uint32Array } | undefined;
  const orderOf = (epoch: number): Uint32Array | undefined => {
    if (shuffle === undefined) return undefined;
    if (drawn?.epoch !== epoch)
      drawn = { epoch, order: permutation(count, randomStream(shuffle.seed, epoch)) };
    return drawn.order;
  };
  return indexedDataset({
    signature: datasetSignature("arrays", { examples, batch, seed: shuffle?.seed, partial }),
    batchesPerEpoch,
    epochs,
    batch: ({ epoch, index }) => {
      const order = orderOf(epoch);
      const rows = Array.from({ length: Math.min(batch, count - index * batch) }, (_, row) => {
        const place = index * batch + row;
        return order?.[place] ?? place;
      });
      const entries = Object.entries(examples).map(([name, source]) => [name, takeRows(source, rows)]);
      return Object.fromEntries(entries) as { readonly [K in keyof T]: HostTensor<T[K]["dtype"]> };
    },
  });
}

function countExamples(examples: Readonly<Record<string, HostTensor>>): number {
  checkExamples("arrayDataset: tensors", examples);
  const entries = Object.entries(examples);
  const [first] = entries;
  if (first === undefined) {
    throw new MpError("MP_INVALID_ARGUMENT", "arrayDataset: no tensors, pass at least one by name");
  }
  for (const [name, value] of entries) {
    if (isHostTensor(value)) continue;
    const text = `arrayDataset: ${name} is a tensor of the host, got ${shown(value)}; make it with tensor(…)`;
    throw new MpError("MP_INVALID_ARGUMENT", text);
  }
  const count = first[1].shape[0];
  for (const [name, { shape }] of entries) {
    if (shape[0] === undefined || shape[0] !== count) {
      throw new MpError(
        "MP_SHAPE_MISMATCH",
        `arrayDataset: the first dimension counts the examples, ${first[0]} is ${formatShape(first[1].shape)} and ${name} is ${formatShape(shape)}`,
      );
    }
  }
  return count ?? 0;
}

function takeRows(source: HostTensor, rows: readonly number[]): HostTensor {
  const { dtype, shape, data } = source;
  const stride = shape.slice(1).reduce((product, dimension) => product * dimension, 1);
  const out = new hostArrayOf[dtype](rows.length * stride);
  rows.forEach((row, place) => {
    const slice = data.subarray(row * stride, (row + 1) * stride);
    // Both sides are of the array class that stores this dtype; the union of classes hides it from `set`.
    (out as Uint8Array).set(slice as Uint8Array, place * stride);
  });
  return { dtype, shape: [rows.length, ...shape.slice(1)], data: out } as HostTensor;
}
