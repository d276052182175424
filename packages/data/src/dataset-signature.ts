import { contentHash, formatShape, isHostTensor } from "@mp/core";
import { text as checkText, claim } from "./check-arguments.js";

/** A longer value is told by its hash. */
const LONGEST_VALUE = 100;

const checkParts = claim(
  "an object of what a batch is made of",
  (value) => typeof value === "object" && value !== null,
);

/**
 * What batches depend on, as the signature of an `indexedDataset`: `images batch 6, seed 1, x u8[40, 3, 8, 8] 9c1f…`.
 * Equal for equal values, in whatever order their keys were written; what is undefined counts as left out. Tensors and
 * typed arrays are told by dtype, shape and a hash of all they hold, long lists and objects by a hash.
 * @param parts all that a batch is made of: pixels, labels, boxes, sizes, seeds
 */
export function datasetSignature(kind: string, parts: Readonly<Record<string, unknown>>): string {
  checkText("datasetSignature: kind", kind);
  checkParts("datasetSignature: parts", parts);
  const words = entriesOf(parts).map(([name, value]) => `${name} ${told(value)}`);
  return `${kind} ${words.join(", ")}`;
}

function told(value: unknown): string {
  const text = canonical(value);
  return text.length > LONGEST_VALUE ? `#${contentHash(Buffer.from(text))}` : text;
}

function canonical(value: unknown): string {
  if (isHostTensor(value)) return `${value.dtype}${formatShape(value.shape)} ${contentHash(value.data)}`;
  if (ArrayBuffer.isView(value)) return `${value.constructor.name} ${contentHash(value)}`;
  if (Array.isArray(value)) return `[${value.map(told).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    return `{${entriesOf(value).map(([name, part]) => `${JSON.stringify(name)}:${told(part)}`)}}`;
  }
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

function entriesOf(value: object): [string, unknown][] {
  const entries: [string, unknown][] = Object.entries(value);
  return entries.filter(([, part]) => part !== undefined).sort(([a], [b]) => (a < b ? -1 : 1));
}
