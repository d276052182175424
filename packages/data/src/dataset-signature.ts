import { isHostTensor, type MpError } from "@mp/core";
import { formatShape } from "@mp/core/graph";
import { contentHash, shown } from "@mp/graph/internal";
import { text as checkText, claim } from "./check-arguments.js";
import { invalid } from "./errors.js";

/** Longer values are represented by their hash. */
const LONGEST_VALUE = 100;
/** Deepest nesting of a value. */
const DEEPEST = 64;

const checkParts = claim(
  "an object of what a batch is made of",
  (value) => typeof value === "object" && value !== null,
);

/**
 * Describes everything that batches depend on, as the signature of an `indexedDataset`: `images batch 6, seed 1, x
 * u8[40, 3, 8, 8] 9c1f…`. Equal values give equal signatures, whatever the order of their keys; undefined values
 * count as absent. Tensors and typed arrays appear as dtype, shape and a hash of their content, long lists and
 * objects as a hash.
 * @throws MP_INVALID_ARGUMENT for a part whose content cannot be hashed, such as a Map, a Date or a function
 * @param parts everything that a batch is made of: pixels, labels, boxes, sizes, seeds
 */
export function datasetSignature(kind: string, parts: Readonly<Record<string, unknown>>): string {
  checkText("datasetSignature: kind", kind);
  checkParts("datasetSignature: parts", parts);
  const words = sortEntries(parts).map(([name, value]) => `${quoteName(name)} ${sign(value, name, 0)}`);
  return `${kind} ${words.join(", ")}`;
}

/** Quotes a name unless it is a single word. */
const quoteName = (name: string): string => (/^[\w$]+$/.test(name) ? name : JSON.stringify(name));

function sign(value: unknown, place: string, depth: number): string {
  const text = canonical(value, place, depth);
  return text.length > LONGEST_VALUE ? `#${contentHash(Buffer.from(text))}` : text;
}

function canonical(value: unknown, place: string, depth: number): string {
  if (isHostTensor(value)) return `${value.dtype}${formatShape(value.shape)} ${contentHash(value.data)}`;
  if (ArrayBuffer.isView(value)) return `${value.constructor.name} ${contentHash(value)}`;
  if (depth > DEEPEST) throw noSignature(place, "a value nested in itself, or too deep");
  if (Array.isArray(value)) {
    return `[${value.map((part, index) => sign(part, `${place}/${index}`, depth + 1)).join(",")}]`;
  }
  if (typeof value === "object" && value !== null) {
    const prototype: unknown = Object.getPrototypeOf(value);
    // The content of a Map, a Date or an instance is not in its properties.
    if (prototype !== Object.prototype && prototype !== null) throw noSignature(place, shown(value));
    const parts = sortEntries(value);
    return `{${parts.map(([name, part]) => `${JSON.stringify(name)}:${sign(part, `${place}/${name}`, depth + 1)}`)}}`;
  }
  if (typeof value === "function" || typeof value === "symbol") throw noSignature(place, shown(value));
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

function noSignature(place: string, got: string): MpError<"MP_INVALID_ARGUMENT"> {
  return invalid(
    `datasetSignature: ${place} must be a number, text, tensor, typed array, or a list or plain object of such, got ${got}`,
  );
}

function sortEntries(value: object): [string, unknown][] {
  const entries: [string, unknown][] = Object.entries(value);
  return entries.filter(([, part]) => part !== undefined).sort(([a], [b]) => (a < b ? -1 : 1));
}
