/** Whole numbers beyond ±(2^53 - 1), where numbers are not exact: refused, or BigInt where the program asks for it. */
import { randomUUID } from "node:crypto";
import type { MpError } from "@mp/core";
import type { RowPlace } from "../row-place.js";
import { rowError } from "./row-file.js";

/** Whether a column's large whole numbers become BigInt. */
export type KeepsBig = (column: string) => boolean;

/** Most digits, as in Python: the time to read more grows faster than their number. */
const MOST_DIGITS = 4300;

export const WHOLE: RegExp = /^\s*[+-]?\d+\s*$/;

/** Reads a whole number: a BigInt if no number holds it exactly. Undefined for other text, and for too many digits. */
export function parseWhole(text: string): number | bigint | undefined {
  if (!WHOLE.test(text)) return undefined;
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  return text.length > MOST_DIGITS ? undefined : BigInt(text.trim().replace("+", ""));
}

/** Converts a BigInt to a number that is exact; otherwise keeps or refuses it. */
export function exactWhole(
  value: bigint,
  column: string,
  keepsBig: boolean,
  place: RowPlace,
): number | bigint {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  if (keepsBig) return value;
  throw refuseBig(place, column, value);
}

/** @param value a text for a decimal that has a fraction, which no BigInt holds either */
export function refuseBig(place: RowPlace, column: string, value: bigint | string): MpError<"MP_PARSE"> {
  const big =
    typeof value === "string"
      ? ""
      : ', or get a BigInt, by its type "bigint" in columns, or within lists and objects by bigIntegers: true';
  const problem = `column ${JSON.stringify(column)} has ${value}, and numbers are exact up to 2^53 - 1`;
  return rowError(place, `${problem}; leave the column out, write it as text${big}`, { column });
}

/** Starts the texts that stand for large whole numbers while a line is parsed. No file can know it. */
const MARK = randomUUID();

/** Marks the large whole numbers in a valid line of JSON, where `JSON.parse` would round them. */
export function markBig(text: string, place: RowPlace): string {
  let [isQuoted, at, copied, marked] = [false, 0, 0, ""];
  for (const { 0: digits, index } of text.matchAll(/-?\d{16,}/g)) {
    for (; at < index; at++) {
      if (text[at] === '"') isQuoted = !isQuoted;
      else if (isQuoted && text[at] === "\\") at++;
    }
    const end = index + digits.length;
    const isWhole = !/[\d.eE+-]/.test(`${text[index - 1]}${text[end]}`);
    if (isQuoted || !isWhole || Number.isSafeInteger(Number(digits))) continue;
    if (digits.length > MOST_DIGITS)
      throw rowError(place, `has a whole number of ${digits.length} digits; write it as text`);
    marked += `${text.slice(copied, index)}"${MARK}${digits}"`;
    copied = end;
  }
  return marked + text.slice(copied);
}

/** For `JSON.parse` of a marked line. */
export const reviveBig = (_: string, value: unknown): unknown =>
  typeof value === "string" && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value;

/** Finds a BigInt in a value of JSON, however deep it is nested. */
export function findBig(value: unknown): bigint | undefined {
  const rest = [value];
  while (rest.length > 0) {
    const part = rest.pop();
    if (typeof part === "bigint") return part;
    if (typeof part === "object" && part !== null) for (const inner of Object.values(part)) rest.push(inner);
  }
  return undefined;
}
