/** Assigns examples to batches, for all datasets in memory and any kind of example. */

import { type Check, integer, oneOf, optional, optionsCheck, passes } from "./check-arguments.js";
import type { BatchPosition } from "./dataset.js";
import { invalid } from "./errors.js";
import { permutation, randomStream } from "./random.js";

/** Options of datasets that make batches. */
export interface BatchingOptions {
  /** Number of examples in a batch. */
  readonly batch: number;
  /** Epochs in a pass. Default 1; `Infinity` goes on until the consumer stops. */
  readonly epochs?: number;
  /** Shuffles each epoch differently, by this seed. Default: examples keep their order. */
  readonly shuffle?: { readonly seed: number };
  /** What to do with the last, smaller batch of an epoch. Default "drop". */
  readonly partial?: "drop" | "keep";
}

/** Checks of `BatchingOptions`, for functions that take other options too. */
export const batchingChecks: { readonly [K in keyof BatchingOptions]-?: Check } = {
  batch: integer(1),
  epochs: optional(passes),
  shuffle: optional(optionsCheck<{ readonly seed: number }>({ seed: integer() }, "{ seed: 1 }")),
  partial: optional(oneOf("drop", "keep")),
};

export interface Batching {
  readonly batchesPerEpoch: number;
  /** Number of examples that an epoch leaves out. */
  readonly dropped: number;
  /** The settings that batches depend on, for `datasetSignature`. */
  readonly signed: { readonly batch: number; readonly seed: number | undefined; readonly partial: string };
  /** Indices of a batch's examples. */
  examplesAt(position: BatchPosition): readonly number[];
}

/** Assigns examples to batches. @throws MP_INVALID_ARGUMENT if `what` has fewer examples than a batch needs */
export function batching(what: string, count: number, options: BatchingOptions): Batching {
  const { batch, shuffle, partial = "drop" } = options;
  const batchesPerEpoch = partial === "keep" ? Math.ceil(count / batch) : Math.floor(count / batch);
  if (batchesPerEpoch < 1) {
    throw invalid(
      `${what}: a batch of ${batch} is larger than the data, ${count} examples; use a smaller batch${count > 0 ? ' or partial: "keep"' : ""}`,
      { batch, examples: count },
    );
  }
  // The order of the current epoch, drawn again when a position is in another epoch.
  let drawn: { readonly epoch: number; readonly order: Uint32Array } | undefined;
  const epochOrder = (epoch: number): Uint32Array | undefined => {
    if (shuffle === undefined) return undefined;
    if (drawn?.epoch !== epoch)
      drawn = { epoch, order: permutation(count, randomStream(shuffle.seed, epoch)) };
    return drawn.order;
  };
  return {
    batchesPerEpoch,
    dropped: Math.max(0, count - batch * batchesPerEpoch),
    signed: { batch, seed: shuffle?.seed, partial },
    examplesAt: ({ epoch, index }) => {
      const order = epochOrder(epoch);
      const first = index * batch;
      return Array.from(
        { length: Math.min(batch, count - first) },
        (_, row) => order?.[first + row] ?? first + row,
      );
    },
  };
}
