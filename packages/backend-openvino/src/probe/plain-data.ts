/** Converts values that JSON lacks to JSON and back: sets, maps, undefined, and numbers such as NaN. */

type Json = string | number | boolean | null | readonly Json[] | { readonly [tag: string]: Json };

/**
 * Serializes plain data to text.
 * @throws TypeError for functions, symbols and objects of other classes
 */
export const plainText = (value: unknown): string => JSON.stringify(encode(value));

/** Parses text of `plainText`. @throws SyntaxError, TypeError for any other text */
export const plainValue = (text: string): unknown => decode(JSON.parse(text) as Json);

/** Encodes a value. Each JSON object has a single key, which tells the kind of the value. */
function encode(value: unknown): Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (value === undefined) return { undefined: null };
  if (typeof value === "bigint") return { bigint: String(value) };
  if (typeof value === "number")
    return Number.isFinite(value) && !Object.is(value, -0)
      ? value
      : { number: Object.is(value, -0) ? "-0" : String(value) };
  if (Array.isArray(value)) return Array.from(value, encode);
  if (value instanceof Set) return { set: [...value].map(encode) };
  if (value instanceof Map) return { map: [...value].map(encode) };
  const prototype: unknown = typeof value === "object" ? Object.getPrototypeOf(value) : undefined;
  if (prototype === Object.prototype || prototype === null)
    return { object: Object.entries(value as object).map(encode) };
  throw new TypeError(`plain data must be made of objects, arrays, sets and maps, got ${String(value)}`);
}

const OF_TAG: Readonly<Record<string, (content: Json) => unknown>> = {
  undefined: () => undefined,
  bigint: (content) => BigInt(content as string),
  number: Number,
  set: (content) => new Set(list(content)),
  map: (content) => new Map(pairs(content)),
  object: (content) => Object.fromEntries(pairs(content)),
};

function decode(value: Json): unknown {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(decode);
  const [[tag, content], ...others] = Object.entries(value) as [[string, Json], ...unknown[]];
  if (others.length > 0 || !Object.hasOwn(OF_TAG, tag)) throw new TypeError(`plain data has no ${tag}`);
  return OF_TAG[tag]?.(content);
}

function list(content: Json): readonly unknown[] {
  if (!Array.isArray(content)) throw new TypeError("plain data must have a list here");
  return content.map(decode);
}

const pairs = (content: Json): readonly [string, unknown][] => list(content) as [string, unknown][];
