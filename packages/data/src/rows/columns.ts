/** Checks the columns and types that a program expects, in every row. */

import { shown } from "@mp/graph/internal";
import { type Check, claim } from "../check-arguments.js";
import { fileError, invalid } from "../errors.js";
import type { RowPlace } from "../row-place.js";
import { type Row, rowError } from "./row-file.js";

interface ColumnTypes {
  readonly string: string;
  readonly number: number;
  readonly boolean: boolean;
  readonly list: readonly unknown[];
  readonly object: Readonly<Record<string, unknown>>;
}

/** The type of a column's values. With a question mark values may be null, or missing in a JSON row. */
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
    fromText: (text) => {
      const number = text.trim() === "" ? Number.NaN : Number(text);
      return Number.isNaN(number) ? undefined : number;
    },
  },
  boolean: {
    called: "true or false",
    elsewhere: /^bool$/,
    holds: (value) => typeof value === "boolean",
    fromText: (text) => ({ true: true, false: false })[text.trim().toLowerCase()],
  },
  list: { called: "a list", elsewhere: /^array$/, holds: Array.isArray },
  object: {
    called: "an object",
    elsewhere: /^(dict|json|struct)$/,
    holds: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  },
};

const areColumns = claim(
  'columns by name, such as { prompt: "string", score: "number?" }',
  (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0,
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

/** @throws MP_PARSE for a file that lacks a column, and for lists and objects in CSV */
export function checkFile(
  path: string,
  wanted: RowColumns,
  columns: readonly string[] | undefined,
  isText: boolean,
): void {
  for (const [name, type] of Object.entries(wanted)) {
    if (columns !== undefined && !columns.includes(name)) {
      const remedy = isText && columns.length === 1 ? ", or pass the delimiter of its fields" : "";
      throw fileError(
        path,
        `has no column ${JSON.stringify(name)}; name one of ${columns.join(", ")}${remedy}`,
      );
    }
    if (isText && columnType(type).fromText === undefined) {
      const held = "text, numbers and booleans";
      throw fileError(
        path,
        `column ${JSON.stringify(name)} cannot be ${columnType(type).called}, CSV holds ${held}; use JSONL`,
      );
    }
  }
}

/** Picks and checks the named columns of a row. @throws MP_PARSE for a missing column or a value of another type */
export function conform(row: Row, wanted: RowColumns, place: RowPlace, isText: boolean): Row {
  const conformed = Object.entries(wanted).map(([name, type]) => {
    const mayBeNull = type.endsWith("?");
    const given = Object.hasOwn(row, name) ? row[name] : undefined;
    if (given === undefined && !mayBeNull) {
      const remedy = `name one of ${Object.keys(row).join(", ")}, or let it be null with "${type}?"`;
      throw rowError(place, `has no column ${JSON.stringify(name)}; ${remedy}`, { column: name });
    }
    if (mayBeNull && (given === undefined || given === null || (isText && given === ""))) return [name, null];
    const { called, holds, fromText } = columnType(type);
    const value = isText ? fromText?.(given as string) : given;
    if (holds(value)) return [name, value];
    const remedy =
      given === null ? `let it be null with "${type}?"` : "correct it, or name its type in columns";
    throw rowError(
      place,
      `column ${JSON.stringify(name)} must be ${called}, got ${shown(given)}; ${remedy}`,
      { column: name },
    );
  });
  return Object.fromEntries(conformed);
}
