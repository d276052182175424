/** Tracks the place in a file from which an example comes, for messages; a transformed example keeps it. */
import { MpError } from "@mp/core";

export interface RowPlace {
  readonly path: string;
  /** Number of the row, from 1, without a header. */
  readonly row: number;
  /** The line in which the row begins; only for text. */
  readonly line?: number;
}

const places = new WeakMap<object, RowPlace>();

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

export function setPlace(value: object, place: RowPlace): void {
  places.set(value, place);
}

export function findPlace(value: unknown): RowPlace | undefined {
  return isObject(value) ? places.get(value) : undefined;
}

/** Formats a place: `train.jsonl: row 17 (line 18)`. */
export const formatPlace = ({ path, row, line }: RowPlace): string =>
  `${path}: row ${row}${line === undefined ? "" : ` (line ${line})`}`;

/** Transforms an example. The result keeps the example's place, and an MpError names it. */
export async function transformInPlace<B, C>(value: B, transform: (value: B) => C | Promise<C>): Promise<C> {
  const place = findPlace(value);
  if (place === undefined) return transform(value);
  try {
    const made = await transform(value);
    if (isObject(made)) places.set(made, place);
    return made;
  } catch (cause) {
    if (!MpError.is(cause)) throw cause;
    const details = { ...cause.details, ...place };
    throw new MpError(cause.code, `${formatPlace(place)}: ${cause.message}`, { details, cause });
  }
}
