import type { MpError } from "@mp/graph";
import { invalid, isPlainObject } from "@mp/graph/internal";
import type { FlatBatch } from "../batch/batch.js";
import type { Json } from "../callbacks/json.js";
import type { TrainingWarning } from "../definition/warning.js";
import { openPass, type TrainingData, warnOfRest } from "./source.js";

type Shapes = { readonly [place: string]: readonly number[] };

/** A position in the data: completed passes, the data's cursor in the current pass, and the shapes of its last batch. */
export interface FeedPlace {
  readonly pass: number;
  readonly place: Json;
  readonly shapes: Shapes | null;
}

export interface FeedOptions {
  /** Microbatches per step. */
  readonly accumulate: number;
  readonly start: FeedPlace;
  /** Number of passes, including passes before `start`. */
  readonly passes: number;
  /** Whether to drop or keep a pass's last batch if it is smaller than a full batch. */
  readonly partial: "drop" | "keep";
  /** Flattens a batch. */
  readonly take: (batch: unknown) => FlatBatch;
  readonly warn: (warning: TrainingWarning) => void;
  /** Yields to the event loop if the loop has waited long enough; batches that are always ready would starve it. */
  readonly breathe: () => Promise<void> | undefined;
  /** Whether training has been ended; called before each batch. */
  readonly isAborted: () => boolean;
}

/** The data of one step or, without batches, the end of a pass. */
export interface StepData<T> {
  readonly batches: readonly FlatBatch[];
  /** The batches as the data source gave them. */
  readonly sources: readonly T[];
  /** The position after the step. */
  readonly cursor: Json;
  readonly pass: number;
}

/**
 * Groups batches into steps, pass after pass, until training is aborted. Batches at the end of a pass that do not
 * fill a step are left out, with a warning.
 */
export async function* feed<T>(
  data: TrainingData<T>,
  options: FeedOptions,
): AsyncGenerator<StepData<T>, undefined> {
  const { start } = options;
  const dropping = options.partial === "keep" ? warnOfRest("fit", data) : undefined;
  if (dropping !== undefined) options.warn(dropping);
  for (let { pass, place, shapes } = start; pass < options.passes; pass++, place = null, shapes = null) {
    const source = await openPass(data, place, pass);
    const next = async (): Promise<T | undefined> => {
      const due = options.breathe();
      if (due !== undefined) await due;
      return options.isAborted() ? undefined : source.next();
    };
    try {
      let batches: FlatBatch[] = [];
      let sources: T[] = [];
      let taken = 0;
      let batch = await next();
      while (batch !== undefined) {
        taken++;
        const given = batch;
        const fed = options.take(given);
        const after = source.place;
        const own = batchShapes(fed);
        // Whether another batch follows matters only for a smaller batch.
        const isSmaller = options.partial === "drop" && shapes !== null && isPartial(own, shapes);
        batch = isSmaller ? await next() : undefined;
        if (isSmaller && batch === undefined) {
          if (options.isAborted()) return;
          options.warn(partialBatch);
          break;
        }
        // A smaller batch that another follows is a full one of a run that goes on with smaller batches.
        shapes = own;
        batches.push(fed);
        sources.push(given);
        if (batches.length === options.accumulate) {
          yield { batches, sources, cursor: writeCursor({ pass, place: after, shapes }), pass };
          batches = [];
          sources = [];
        }
        batch ??= await next();
      }
      if (options.isAborted()) return;
      if (batches.length > 0) options.warn(partialStep(batches.length, options.accumulate));
      if (taken === 0 && place === null) throw noBatches(pass);
    } finally {
      await source.close();
    }
    yield { batches: [], sources: [], cursor: beginning(pass + 1), pass };
  }
}

function writeCursor({ pass, place, shapes }: FeedPlace): Json {
  return { feed: 1, pass, place, shapes };
}

const beginning = (pass: number): Json => writeCursor({ pass, place: null, shapes: null });

/** Parses a cursor: null for the beginning, one that `fit` wrote, or one of the data source. */
export function readCursor(cursor: Json): FeedPlace {
  if (typeof cursor !== "object" || cursor === null || !("feed" in cursor)) {
    return { pass: 0, place: cursor, shapes: null };
  }
  const { feed: version, pass, place = null, shapes = null } = cursor;
  if (version === 1 && isCount(pass) && (shapes === null || isShapes(shapes))) {
    return { pass, place, shapes };
  }
  throw invalid(`fit: no cursor of fit, ${JSON.stringify(cursor)}`);
}

/** Rewinds a cursor of `fit` (JSON text) to the beginning of its pass, any other to the beginning of the data. */
export function passOnly(text: string): Json {
  const { pass } = readCursor(JSON.parse(text) as Json);
  return pass === 0 ? null : beginning(pass);
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const isShapes = (value: unknown): value is Shapes =>
  isPlainObject(value) && Object.values(value).every((shape) => Array.isArray(shape) && shape.every(isCount));

function batchShapes({ inputs }: FlatBatch): Shapes {
  return Object.fromEntries(Object.entries(inputs).map(([place, { shape }]) => [place, shape]));
}

/** Whether the shapes are a full batch's with fewer rows. */
function isPartial(shapes: Shapes, full: Shapes): boolean {
  const places = Object.keys(shapes);
  let isSmaller = false;
  for (const place of places) {
    const [rows = 0, ...rest] = shapes[place] ?? [];
    const [most = 0, ...others] = full[place] ?? [];
    if (rows > most || rest.join() !== others.join()) return false;
    isSmaller ||= rows < most;
  }
  return isSmaller && places.length === Object.keys(full).length;
}

const partialBatch: TrainingWarning = {
  type: "data",
  message:
    'the last batch of a pass is smaller than the others and was left out; with the option partial: "keep" of fit it is trained on, at the price of one more compilation',
};

const partialStep = (left: number, accumulate: number): TrainingWarning => ({
  type: "data",
  message: `the last ${left === 1 ? "batch of a pass was" : `${left} batches of a pass were`} left out, a step takes ${accumulate} (accumulate)`,
});

function noBatches(pass: number): MpError<"MP_INVALID_ARGUMENT"> {
  return invalid(
    pass === 0
      ? "fit: the data holds no batches"
      : `fit: the data gave no batches in pass ${pass + 1}; a generator can be gone through only once, pass an array, a dataset or fewer steps`,
  );
}
