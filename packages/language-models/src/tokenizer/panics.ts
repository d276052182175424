/** Refuses the parts of a `tokenizer.json` at which Rust code would panic, which ends the process. */
import { isUtf8 } from "node:buffer";
import { shown } from "@mp/graph/internal";
import type { FieldValues } from "@mp/nn/internal";

/** Checks by a field that one kind of part has. Each throws an Error if the library panics at a value. */
const CHECKS: Readonly<Record<string, (value: unknown, part: FieldValues) => void>> = {
  precompiled_charsmap: checkCharsmap,
  single: checkTemplate,
  pattern: checkPattern,
  length: (length) => {
    if (length === 0) throw new Error("the length of its FixedLength must be at least 1, got 0");
  },
  stop: (stop) => {
    if (stop !== 0) throw new Error(`the stop of its Strip must be 0, got ${shown(stop)}`);
  },
};

/** @throws Error for a description that the library would panic at, in reading it or later */
export function checkPanics(description: FieldValues): void {
  checkMerges((description["model"] ?? {}) as FieldValues);
  for (const name of ["normalizer", "pre_tokenizer", "post_processor", "decoder"])
    checkParts(description[name]);
  // A second template would take the pieces of the first for texts.
  if (JSON.stringify(description["post_processor"] ?? null).split('"single":').length > 2)
    throw new Error("its post_processor must have one template at most");
}

const isObject = (value: unknown): value is FieldValues => typeof value === "object" && value !== null;

function checkParts(part: unknown): void {
  if (!isObject(part)) return;
  for (const [name, value] of Object.entries(part)) {
    if (Object.hasOwn(CHECKS, name)) CHECKS[name]?.(value, part);
    checkParts(value);
  }
}

function checkMerges({ merges, vocab, continuing_subword_prefix: prefix }: FieldValues): void {
  if (!Array.isArray(merges) || !isObject(vocab)) return;
  const start = typeof prefix === "string" ? prefix : "";
  for (const [at, merge] of merges.entries()) {
    const [left, right] = typeof merge === "string" ? merge.split(" ") : Array.isArray(merge) ? merge : [];
    if (![left, right].every((token) => typeof token === "string" && Object.hasOwn(vocab, token))) continue;
    if (right.startsWith(start) && Object.hasOwn(vocab, left + right.slice(start.length))) continue;
    throw new Error(`its merges[${at}] must be two tokens that make a third, got ${shown(merge)}`);
  }
}

function checkTemplate(single: unknown, { special_tokens: tokens }: FieldValues): void {
  for (const piece of Array.isArray(single) ? single : []) {
    const [[kind, value] = ["", undefined]] = Object.entries((piece ?? {}) as FieldValues);
    const id = isObject(value) ? value["id"] : undefined;
    if (kind === "Sequence" ? id === "A" : isObject(tokens) && Object.hasOwn(tokens, String(id))) continue;
    throw new Error(`its template must be the sequence A and special_tokens, got ${shown(id)}`);
  }
}

/** A repeated group with an alternative that has only repetitions, such as `(a+)+` and `(a|b?c*)*`. */
const REPEATED =
  /\((?:\?(?:[:>=!]|<[=!]))?(?:[^()]*\|)?(?:[^()|][*?])*[^()|][*+](?:[^()|][*?])*(?:\|[^()]*)?\)[*+]/;

/** Refuses patterns like `(a+)+b`. The library panics at a match that backtracks ten million times. */
function checkPattern(pattern: unknown): void {
  const regex = isObject(pattern) ? String(pattern["Regex"] ?? "") : "";
  const letters = regex.replace(/\\(?:[pP]\{[^}]*\}|.)|\[\^?\]?(?:\\.|[^\]])*\]/gs, "x");
  const plain = letters.replace(/\{\d*,\}/g, "+").replace(/([*+?])\?/g, "$1");
  if (REPEATED.test(plain)) throw new Error(`its pattern must not repeat a repetition, got ${shown(regex)}`);
}

/** SentencePiece's map: a length in bytes, a trie of units of 32 bits (Darts), texts that end with a zero byte. */
function checkCharsmap(map: unknown): void {
  const bytes = Buffer.from(String(map), "base64");
  const end = bytes.length < 4 ? Number.POSITIVE_INFINITY : 4 + bytes.readUInt32LE();
  const [trie, texts] = [bytes.subarray(4, end), bytes.subarray(end)];
  const units = new Uint32Array(Uint8Array.from(trie).buffer, 0, trie.length >> 2);
  // A unit leads to a block of 256 others, the first of which has the place of a text, unless it is such a place itself.
  const isWhole = units.every((unit, at) => {
    const next = at ^ ((unit >>> 10) << ((unit & 512) >>> 6));
    const place = (units[next] ?? 0) & 0x7fffffff;
    const isText = (unit & 256) === 0 || (place <= texts.length && ((texts[place] ?? 0) & 0xc0) !== 0x80);
    return unit >>> 31 === 1 || ((next | 255) < units.length && isText);
  });
  const isRead = bytes.toString("base64") === map && end <= bytes.length && units.length > 0;
  if (!isRead || !isWhole || !isUtf8(texts)) throw new Error("its precompiled_charsmap is damaged");
}
