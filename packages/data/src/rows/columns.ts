/** Checks the columns and types that a program expects, in every row. */

import { shown } from "@mp/graph/internal";
import { type Check, claim } from "../check-arguments.js";
import { fileError, invalid } from "../errors.js";
import type { RowPlace } from "../row-place.js";
import { parseWhole, refuseBig, WHOLE } from "./big-integers.js";
import { type Row, rowError } from "./row-file.js";

/** A message of a chat, as `encodeChat` of `@mp/language-models` takes it. */
export interface RowMessage {
  readonly role: string;
  readonly [field: string]: unknown;
}

interface ColumnTypes {
  readonly string: string;
  readonly number: number;
  readonly bigint: bigint;
  readonly boolean: boolean;
  readonly chat: readonly RowMessage[];
  readonly list: readonly unknown[];
  readonly object: Readonly<Record<string, unknown>>;
}

/** The type of a column's values. With a question mark they may be null, missing in JSON or empty in CSV. */
export type ColumnType = keyof ColumnTypes | `${keyof ColumnTypes}?`;

/** The types of columns, by name. */
export type RowColumns = Readonly<Record<string, ColumnType>>;

/** A row with these columns; with all columns of the file if none are named. */
export type RowOf<C extends RowColumns | undefined> = C extends RowColumns
  ? { readonly [K in keyof C]: ValueOf<C[K]> }
  : Row;

type ValueOf<T extends ColumnType> = T extends keyof ColumnTypes
  ? ColumnTypes[T]
  : T extends `${infer K extends keyof ColumnTypes}?`
    ? ColumnTypes[K] | null
    : never;

interface TypeRule {
  readonly called: string;
  /** Names of this type in other libraries, for a hint in the error. */
  readonly elsewhere: RegExp;
  readonly holds: (value: unknown) => boolean;
  /** Parses a value from text; undefined if it is invalid. */
  readonly fromText?: (text: string) => unknown;
  /** Converts a value that has another type in JSON and Parquet. */
  readonly fromValue?: (value: unknown) => unknown;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const toBig = (value: unknown): unknown => (Number.isSafeInteger(value) ? BigInt(value as number) : value);

/** Reads a decimal number; no hexadecimal, octal and binary ones, which `Number` reads too. */
function parseFraction(text: string): number | undefined {
  const number = text.trim() === "" || /[xob]/i.test(text) ? Number.NaN : Number(text);
  return Number.isNaN(number) ? undefined : number;
}

const types: Readonly<Record<keyof ColumnTypes, TypeRule>> = {
  string: {
    called: "a string",
    elsewhere: /^(str|text)$/,
    holds: (value) => typeof value === "string",
    fromText: (text) => text,
  },
  number: {
    called: "a number",
    elsewhere: /^(int|integer|float|double)$/,
    holds: (value) => typeof value === "number",
    fromText: (text) => (WHOLE.test(text) ? parseWhole(text) : parseFraction(text)),
  },
  bigint: {
    called: "a whole number",
    elsewhere: /^(int64|uint64|long)$/,
    holds: (value) => typeof value === "bigint",
    fromText: (text) => toBig(parseWhole(text)),
    fromValue: toBig,
  },
  boolean: {
    called: "true or false",
    elsewhere: /^bool$/,
    holds: (value) => typeof value === "boolean",
    fromText: (text) => ({ true: true, false: false })[text.trim().toLowerCase()],
  },
  chat: {
    called: "a list of messages with a role each",
    elsewhere: /^(messages|conversations?)$/,
    holds: (value) =>
      Array.isArray(value) && value.every((part) => isObject(part) && typeof part["role"] === "string"),
  },
  list: { called: "a list", elsewhere: /^array$/, holds: Array.isArray },
  object: { called: "an object", elsewhere: /^(dict|json|struct)$/, holds: isObject },
};

const areColumns = claim(
  'columns by name, such as { prompt: "string", score: "number?" }',
  (value) => isObject(value) && Object.keys(value).length > 0,
);

export const checkColumns: Check = (what, value) => {
  areColumns(what, value);
  for (const [name, type] of Object.entries(value as Readonly<Record<string, unknown>>)) {
    const kind = String(type).replace(/\?$/, "");
    if (typeof type === "string" && Object.hasOwn(types, kind)) continue;
    const [meant] = Object.entries(types).find(([, { elsewhere }]) => elsewhere.test(kind)) ?? [];
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    throw invalid(
      `${what}: the type of ${shown(name)} must be ${Object.keys(types).join(", ")}, or one of them with a question mark where values may be null, got ${shown(type)}${hint}`,
    );
  }
};

const columnType = (type: ColumnType): TypeRule => types[type.replace("?", "") as keyof ColumnTypes];

/** @throws MP_PARSE for a file without a wanted column, and for CSV if a list or object is wanted */
export function checkFile(
  path: string,
  wanted: RowColumns,
  columns: readonly string[] | undefined,
  isText: boolean,
): void {
  for (const [name, type] of Object.entries(wanted)) {
    if (columns !== undefined && !columns.includes(name)) {
      const remedy = `name one of ${columns.join(", ")}`;
      const other = isText && columns.length === 1 ? ", or pass the delimiter of its fields" : "";
      throw fileError(path, `has no column ${JSON.stringify(name)}; ${remedy}${other}`);
    }
    const { called, fromText } = columnType(type);
    if (!isText || fromText !== undefined) continue;
    const held = "CSV holds text, numbers and booleans";
    throw fileError(path, `column ${JSON.stringify(name)} cannot be ${called}, ${held}; use JSONL`);
  }
}

/**
 * Picks and checks the named columns of a row.
 * @param nulls the texts of CSV that are null where a type has a question mark; undefined for other formats
 * @throws MP_PARSE for a missing column or a value of another type
 */
export function conform(
  row: Row,
  wanted: RowColumns,
  place: RowPlace,
  nulls: readonly unknown[] | undefined,
): Row {
  const conformed = Object.entries(wanted).map(([name, type]) => {
    const mayBeNull = type.endsWith("?");
    const given = Object.hasOwn(row, name) ? row[name] : undefined;
    if (given === undefined && !mayBeNull) {
      const remedy = `name one of ${Object.keys(row).join(", ")}, or let it be null with "${type}?"`;
      throw rowError(place, `has no column ${JSON.stringify(name)}; ${remedy}`, { column: name });
    }
    if (mayBeNull && (given === undefined || given === null || nulls?.includes(given))) return [name, null];
    const { called, holds, fromText, fromValue } = columnType(type);
    const value = nulls === undefined ? (fromValue?.(given) ?? given) : fromText?.(given as string);
    if (holds(value)) return [name, value];
    if (typeof value === "bigint") throw refuseBig(place, name, value);
    const allow = `let it be null with "${type}?"`;
    const asNull = mayBeNull
      ? `or pass nullValues: [${shown(given)}]`
      : `name its type in columns, or ${allow} and nullValues`;
    const others = nulls === undefined ? "or name its type in columns" : asNull;
    const remedy = given === null ? allow : `correct it, ${others}`;
    const problem = `column ${JSON.stringify(name)} must be ${called}, got ${shown(given)}`;
    throw rowError(place, `${problem}; ${remedy}`, { column: name });
  });
  return Object.fromEntries(conformed);
}
