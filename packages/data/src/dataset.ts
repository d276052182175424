import type { Json } from "@mp/core/fit";
import * as check from "./check-arguments.js";
import { cursorFields, isCount, noCursor } from "./cursor-fields.js";
import { invalid } from "./errors.js";
import { transformInPlace } from "./row-place.js";

/** One pass over a dataset. A pass that throws has ended; continue with a new pass from the last `cursor`. */
export interface BatchIterator<B> extends AsyncIterableIterator<B> {
  /** The position after the last returned batch; `iterate(cursor)` continues with the next batch. */
  readonly cursor: Json;
}

/**
 * Batches in an order that depends only on the dataset, so that a run that was stopped continues with the same
 * batches. `for await` over the dataset itself starts at the beginning.
 */
export interface Dataset<B> extends AsyncIterable<B> {
  /**
   * Starts at the beginning of a pass, or at a cursor of this dataset, which contains its pass. With two
   * epochs, pass 1 has epochs 2 and 3, with other shuffles and augmentations than pass 0.
   * @param pass counts from 0, the default; only without a cursor
   * @throws MP_INVALID_ARGUMENT for a cursor for other data or other batch sizes
   */
  iterate(cursor?: Json, pass?: number): BatchIterator<B>;
  /** Number of examples that each epoch leaves out, as in a smaller last batch; undefined if unknown. */
  readonly dropped?: number;
}

/** A batch's position: `index` counts from 0 within `epoch`, which counts from 0 over all passes. */
export interface BatchPosition {
  readonly epoch: number;
  readonly index: number;
}

export interface IndexedDatasetOptions<B> {
  /**
   * Everything that the batches depend on (data, sizes, seed), as `datasetSignature` describes it; a cursor with
   * another signature is refused.
   */
  readonly signature: string;
  readonly batchesPerEpoch: number;
  /** Epochs in a pass. Default 1; `Infinity` goes on until the consumer stops. */
  readonly epochs?: number;
  /** Number of examples that each epoch leaves out; default none. */
  readonly dropped?: number;
  /** Makes a batch; the result must depend only on the position. */
  readonly batch: (position: BatchPosition) => B | Promise<B>;
}

const checkOptions = check.optionsCheck<IndexedDatasetOptions<unknown>>(
  {
    signature: check.text,
    batchesPerEpoch: check.integer(1),
    epochs: check.optional(check.passes),
    batch: check.callback,
    dropped: check.optional(check.integer(0)),
  },
  "{ signature, batchesPerEpoch: 8, batch: ({ epoch, index }) => … }",
);

/**
 * Makes a custom dataset from a function of the batch's position. `datasetSignature` helps to identify the data.
 * @throws MP_INVALID_ARGUMENT for an unknown or invalid option, such as an epoch without batches
 */
export function indexedDataset<B>(options: IndexedDatasetOptions<B>): Dataset<B> {
  checkOptions("indexedDataset", options);
  const { signature, batchesPerEpoch, epochs = 1, batch, dropped } = options;
  const iterate = (cursor?: Json, firstPass = 0): BatchIterator<B> => {
    checkPass("iterate: pass", firstPass);
    const first = { epoch: 0, index: 0, pass: firstPass };
    const start = cursor === undefined ? first : parseCursor(cursor, signature, batchesPerEpoch);
    const { pass } = start;
    let position: BatchPosition = { epoch: start.epoch, index: start.index };
    // Epochs before this pass. A pass with endless epochs counts as one epoch, because the product would be infinite.
    const earlier = pass * (epochs === Number.POSITIVE_INFINITY ? 1 : epochs);
    async function* run(): AsyncGenerator<B, undefined> {
      while (position.epoch < epochs) {
        const { epoch, index } = position;
        const value = await batch({ epoch: earlier + epoch, index });
        position = index + 1 < batchesPerEpoch ? { epoch, index: index + 1 } : { epoch: epoch + 1, index: 0 };
        yield value;
      }
    }
    // Cursors omit the first pass, as they did before passes differed.
    const named = pass === 0 ? {} : { pass };
    return withCursor(run(), () => ({ version: 1, data: signature, ...position, ...named }));
  };
  return toDataset(iterate, dropped);
}

export function toDataset<B>(iterate: Dataset<B>["iterate"], dropped?: number): Dataset<B> {
  const dataset = { iterate, [Symbol.asyncIterator]: () => iterate() };
  return dropped === undefined ? dataset : { ...dataset, dropped };
}

const checkPass = check.integer(0);

export const checkDataset: check.Check = check.claim(
  "a dataset, such as readRows, mapDataset and imageBatches give",
  (value) => typeof (value as Partial<Dataset<unknown>> | null | undefined)?.iterate === "function",
);

/** Transforms every batch of a dataset; cursors are those of the original dataset. */
export function mapDataset<B, C>(dataset: Dataset<B>, transform: (batch: B) => C | Promise<C>): Dataset<C> {
  checkDataset("mapDataset: dataset", dataset);
  check.callback("mapDataset: transform", transform);
  return toDataset((cursor, pass) => {
    const source = dataset.iterate(cursor, pass);
    async function* run(): AsyncGenerator<C, undefined> {
      for await (const batch of source) yield await transformInPlace(batch, transform);
    }
    return withCursor(run(), () => source.cursor);
  }, dataset.dropped);
}

/** Makes an iterator with a cursor from a generator of batches. */
export function withCursor<B>(generator: AsyncGenerator<B, undefined>, cursor: () => Json): BatchIterator<B> {
  return {
    next: () => generator.next(),
    return: () => generator.return(undefined),
    throw: (error: unknown) => generator.throw(error),
    [Symbol.asyncIterator]() {
      return this;
    },
    get cursor() {
      return cursor();
    },
  };
}

function parseCursor(
  cursor: Json,
  signature: string,
  batchesPerEpoch: number,
): BatchPosition & { readonly pass: number } {
  const { epoch, index, pass = 0 } = cursorFields(cursor, signature);
  if (!isCount(epoch) || !isCount(index) || !isCount(pass)) throw noCursor(cursor);
  if (index >= batchesPerEpoch)
    throw invalid(`iterate: the cursor stands at batch ${index} of an epoch of ${batchesPerEpoch}`);
  return { epoch, index, pass };
}
