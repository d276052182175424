/** Compares the rows of a file with those that Python's readers read of it (random_rows.py). */
import type { ColumnType } from "../../src/rows/columns.js";
import { type ReadRowsOptions, readRows } from "../../src/rows/read-rows.js";

/** What Python reads of a file: rows of JSON's values, tagged where JSON has none; or why it reads nothing. */
export interface Expected {
  readonly columns?: readonly string[];
  /** With columns their values in order, without them whole rows. */
  readonly rows?: readonly unknown[];
  readonly error?: string;
  readonly delimiter?: string;
  /** The numbers of CSV where they are read as such. */
  readonly numbers?: readonly (readonly unknown[])[];
  readonly nullValues?: readonly string[];
}

interface Tagged {
  readonly $: string;
  readonly v: unknown;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" &&
  value !== null &&
  !(Array.isArray(value) || value instanceof Date || ArrayBuffer.isView(value));
const isTagged = (value: unknown): value is Tagged => isObject(value) && "$" in value;

function hasFields(got: unknown, wanted: readonly (readonly [string, unknown])[]): boolean {
  if (!isObject(got) || Object.keys(got).length !== new Map(wanted).size) return false;
  return [...new Map(wanted)].every(([name, value]) => Object.hasOwn(got, name) && isEqual(got[name], value));
}

const FLOATS: Readonly<Record<string, number>> = {
  nan: Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  "-inf": Number.NEGATIVE_INFINITY,
  "-0": -0,
};

/** Nanoseconds of a time of day. */
function timeOf(text: string): bigint {
  const [, h = "99", m = "", s = "", fraction = ""] = /^(\d\d):(\d\d):(\d\d)(?:\.(\d+))?$/.exec(text) ?? [];
  const seconds = BigInt(h) * 3600n + BigInt(m) * 60n + BigInt(s);
  return seconds * 1_000_000_000n + BigInt(fraction.padEnd(9, "0"));
}

/** Whether a value is Python's, by the kind of Python's. */
const kinds: Readonly<Record<string, (got: unknown, wanted: never) => boolean>> = {
  int: (got, wanted: string) => got === BigInt(wanted),
  float: (got, wanted: string) => Object.is(got, FLOATS[wanted]),
  // A Date has milliseconds, of which there are no negative fractions.
  nanoseconds: (got, wanted: string) =>
    got instanceof Date &&
    (BigInt(wanted) - BigInt(got.getTime()) * 1_000_000n) / 1_000_000n === 0n &&
    BigInt(got.getTime()) * 1_000_000n <= BigInt(wanted),
  time: (got, wanted: string) => typeof got === "string" && timeOf(got) === BigInt(wanted),
  decimal: (got, wanted: string) =>
    typeof got === "bigint" ? String(got) === wanted : got === Number(wanted),
  bytes: (got, wanted: string) => got instanceof Uint8Array && Buffer.from(got).toString("hex") === wanted,
  object: hasFields,
  map: (got, wanted: readonly [string, unknown][]) =>
    Array.isArray(got) &&
    got.length === wanted.length &&
    wanted.every(([key, value], at) =>
      hasFields(got[at], [
        ["key", key],
        ["value", value],
      ]),
    ),
};

function isEqual(got: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted))
    return (
      Array.isArray(got) && got.length === wanted.length && wanted.every((one, at) => isEqual(got[at], one))
    );
  return isTagged(wanted) ? kinds[wanted.$]?.(got, wanted.v as never) === true : got === wanted;
}

/** Whether a value has a whole number or decimal that no number holds exactly. */
function isBig(wanted: unknown): boolean {
  if (Array.isArray(wanted)) return wanted.some(isBig);
  if (!isTagged(wanted)) return false;
  const digits = String(wanted.v).replace(".", "");
  return (
    wanted.$ === "int" || (wanted.$ === "decimal" && !Number.isSafeInteger(Number(digits))) || isBig(wanted.v)
  );
}

const show = (value: unknown): string =>
  JSON.stringify(value, (_, part) => (typeof part === "bigint" ? `${part}n` : part))?.slice(0, 300);

const toBig = (value: unknown): unknown => (Number.isInteger(value) ? { $: "int", v: String(value) } : value);

/**
 * Reads a file in each way that applies.
 * @returns how often its rows were Python's, and why the file was refused
 * @throws Error for a row that differs, and for a refusal without a code
 */
export async function compareRows(
  path: string,
  expected: Expected,
): Promise<{ equal: number; refusals: string[] }> {
  const refusals: string[] = [];
  let equal = 0;
  const check = async (
    options: ReadRowsOptions,
    { columns, rows, error }: Expected,
    mayBeBig: boolean,
  ): Promise<void> => {
    let at = 0;
    try {
      const { delimiter } = expected;
      for await (const row of await readRows(path, {
        ...options,
        ...(delimiter === undefined ? {} : { delimiter }),
      })) {
        if (rows === undefined) continue;
        if (at >= rows.length) throw new Error(`more rows than ${rows.length}`);
        const wanted =
          columns === undefined
            ? rows[at]
            : { $: "object", v: columns.map((name, by) => [name, (rows[at] as unknown[])[by]]) };
        if (!isEqual(row, wanted) || (isBig(wanted) && !mayBeBig))
          throw new Error(`row ${at + 1} is ${show(row)} and must be ${show(wanted)}`);
        at++;
      }
      if (at < (rows?.length ?? 0)) throw new Error(`${at} rows, must be ${rows?.length}`);
      if (rows === undefined) throw new Error(`is read, and must be refused: ${error}`);
      equal++;
    } catch (error) {
      const { code, message } = error as { readonly code?: string; readonly message: string };
      if (code !== "MP_PARSE") throw new Error(`${path}, ${show(options)}: ${message}`, { cause: error });
      refusals.push(message.replaceAll(path, ""));
    }
  };
  await check({}, expected, false);
  await check({ bigIntegers: true }, expected, true);
  const { columns = [], numbers, nullValues = [] } = expected;
  if (numbers === undefined) return { equal, refusals };
  for (const [by, name] of columns.entries()) {
    const rows = numbers.map((row) => [row[by]]);
    const typed = (type: ColumnType) => ({ columns: Object.fromEntries([[name, type]]), nullValues });
    await check(typed("number?"), { columns: [name], rows }, false);
    await check(typed("bigint?"), { columns: [name], rows: rows.map(([value]) => [toBig(value)]) }, true);
  }
  return { equal, refusals };
}
