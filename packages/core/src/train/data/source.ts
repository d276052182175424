import { MpError } from "@mp/graph";
import { shown } from "@mp/graph/internal";
import type { Json } from "../callbacks/json.js";
import type { TrainingWarning } from "../definition/warning.js";

/** A source of batches with a position, such as a `Dataset` of @mp/data. */
export interface DataSource<T> {
  /**
   * Iterates from the beginning, or from a cursor of this source. `pass` counts the passes before this one, so that
   * each pass can have its own order. A cursor belongs to the pass in which it was taken.
   */
  iterate(cursor?: Json, pass?: number): AsyncIterator<T> & { readonly cursor: Json };
  /** Examples that each pass leaves out; `evaluateAll`, and `fit` with `partial: "keep"`, warn of them. */
  readonly dropped?: number;
}

/**
 * Data for `fit` and `steps`: any iterable. An iterable that works only once, such as a generator, makes one pass.
 * Without cursors the position is a number of batches, which a resumed run skips by iterating over them again.
 */
export type TrainingData<T> = DataSource<T> | AsyncIterable<T> | Iterable<T>;

/** The current pass over the data, with the position after the last batch. */
export interface DataPass<T> {
  next(): Promise<T | undefined>;
  /** The position after the last batch; a pass can be opened there. */
  readonly place: Json;
  close(): Promise<void>;
}

/** Makes a warning about the examples that the data leaves out; undefined if `dropped` is 0 or missing. */
export function warnOfRest<T>(what: string, data: TrainingData<T>): TrainingWarning | undefined {
  const { dropped } = (data ?? {}) as { readonly dropped?: unknown };
  if (typeof dropped !== "number" || dropped <= 0) return undefined;
  return {
    type: "data",
    message: `${what}: the dataset leaves out ${dropped} examples of each pass, which make no full batch; with partial: "keep" it gives them as a smaller batch, and arrayDataset with "pad" as one with weights, which the loss and its metrics must read`,
    details: { dropped },
  };
}

/** @throws MP_INVALID_ARGUMENT for data of another type, or a position outside of the data */
export async function openPass<T>(
  data: TrainingData<T>,
  place: Json,
  pass: number,
  what = "fit",
): Promise<DataPass<T>> {
  if (isDataSource(data)) {
    const iterator = data.iterate(place ?? undefined, pass);
    return startPass(iterator, () => iterator.cursor);
  }
  const iterator = openIterator(data, what);
  let taken = 0;
  const counted = startPass(
    iterator,
    () => taken,
    () => taken++,
  );
  if (place === null) return counted;
  if (typeof place !== "number") {
    throw invalid(
      `the cursor ${JSON.stringify(place)} is that of a dataset, and these batches have no cursors`,
    );
  }
  if (!Number.isSafeInteger(place) || place < 0) {
    throw invalid(`the cursor ${place} is no count of batches`);
  }
  while (taken < place) {
    if ((await counted.next()) !== undefined) continue;
    throw invalid(`the cursor is after batch ${place}, and there are ${taken}`);
  }
  return counted;
}

function startPass<T>(
  iterator: AsyncIterator<T> | Iterator<T>,
  place: () => Json,
  onTaken?: () => void,
): DataPass<T> {
  let isOver = false;
  return {
    next: async () => {
      const { done, value } = await iterator.next();
      if (done === true) {
        isOver = true;
        return undefined;
      }
      onTaken?.();
      return value;
    },
    get place() {
      return place();
    },
    close: async () => {
      if (!isOver) await iterator.return?.();
    },
  };
}

function isDataSource<T>(data: TrainingData<T>): data is DataSource<T> {
  return typeof (data as { iterate?: unknown } | undefined)?.iterate === "function";
}

function openIterator<T>(data: AsyncIterable<T> | Iterable<T>, what: string): AsyncIterator<T> | Iterator<T> {
  const { [Symbol.asyncIterator]: openAsync, [Symbol.iterator]: open } = (data ?? {}) as Partial<
    AsyncIterable<T> & Iterable<T>
  >;
  if (typeof data === "string" || (openAsync ?? open) === undefined) {
    throw invalid(
      `data must be an iterable of batches or have iterate(cursor), got ${shown(data)}; make one with arrayDataset or imageBatches of @mp/data`,
      what,
    );
  }
  return openAsync === undefined
    ? (data as Iterable<T>)[Symbol.iterator]()
    : openAsync.call(data as AsyncIterable<T>);
}

function invalid(message: string, what = "fit"): MpError<"MP_INVALID_ARGUMENT"> {
  return new MpError("MP_INVALID_ARGUMENT", `${what}: ${message}`);
}
