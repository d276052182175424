// Files at which the library panics, which would end this process, and texts that take long in other implementations.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { refusal } from "../../data/test/refusal.js";
import { loadTokenizer } from "../src/tokenizer/index.js";

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "mp-tokenizer-panics-"));
});
afterAll(() => rm(directory, { recursive: true }));

const letters = { type: "Unigram", unk_id: 0, vocab: ["<unk>", "a", "b"].map((token, id) => [token, -id]) };
const load = async (parts: object) => {
  await writeFile(
    join(directory, "tokenizer.json"),
    JSON.stringify({ version: "1.0", added_tokens: [], model: letters, ...parts }),
  );
  return loadTokenizer(directory);
};
const sequence = (id: string) => ({ Sequence: { id, type_id: 0 } });
const template = (...single: object[]) => ({
  type: "TemplateProcessing",
  single,
  pair: [],
  special_tokens: { a: { id: "a", ids: [1], tokens: ["a"] } },
});
const bpe = (fields: object) => ({
  model: { type: "BPE", vocab: { a: 0, b: 1, ab: 2, "#b": 3 }, merges: [["a", "b"]], ...fields },
});
/** A map of a Precompiled normalizer: a trie of units, and texts. */
const charsmap = (units: number[], texts: readonly number[]) => ({
  normalizer: {
    type: "Precompiled",
    precompiled_charsmap: Buffer.concat([
      Buffer.from(Uint32Array.of(4 * units.length, ...units).buffer),
      Buffer.from(texts),
    ]).toString("base64"),
  },
});
/** A trie whose units are 0, but for those given. */
const trie = (units: Readonly<Record<number, number>>) =>
  Array.from({ length: 256 }, (_, at) => units[at] ?? 0);
const [A, B] = [97, 98];
/** A unit of a letter whose value is in the unit that is `offset` away. */
const leaf = (letter: number, offset: number) => ((offset << 10) | 256 | letter) >>> 0;

it.each<[string, object]>([
  [
    "a merge that is longer than all tokens",
    bpe({
      merges: [
        ["a", "b"],
        ["ab", "ab"],
      ],
    }),
  ],
  ["a merge without its prefix", bpe({ continuing_subword_prefix: "##" })],
  ["a map that is no base64", { normalizer: { type: "Precompiled", precompiled_charsmap: "a!" } }],
  ["a map without a trie", charsmap([], [])],
  [
    "a map that is cut short",
    {
      normalizer: {
        type: "Precompiled",
        precompiled_charsmap: Buffer.from([4, 0, 0, 0, 0]).toString("base64"),
      },
    },
  ],
  ["a trie that is left", charsmap([leaf(0, 9)], [65, 0])],
  ["a trie that is left at a second letter", charsmap(trie({ [A]: (4000 << 10) | A }), [65, 0])],
  ["a value beyond the texts", charsmap(trie({ [A]: leaf(A, 3), [A ^ 3]: 0x80000009 }), [65, 0])],
  ["a value within a character", charsmap(trie({ [A]: leaf(A, 3), [A ^ 3]: 0x80000001 }), [0xc3, 0xa9, 0])],
  ["texts that are not UTF-8", charsmap(trie({}), [0xff])],
  [
    "a template of what is not there",
    { post_processor: template({ SpecialToken: { id: "z", type_id: 0 } }) },
  ],
  ["a template of a second text", { post_processor: template(sequence("B")) }],
  [
    "two templates",
    {
      post_processor: {
        type: "Sequence",
        processors: [template(sequence("A"), sequence("A")), template(sequence("A"))],
      },
    },
  ],
  [
    "a template in a sequence in a sequence, and another",
    {
      post_processor: {
        type: "Sequence",
        processors: [
          { type: "Sequence", processors: [template(sequence("A"), sequence("A"))] },
          template(sequence("A")),
        ],
      },
    },
  ],
  ["a Strip at the end", { decoder: { type: "Strip", content: "a", start: 0, stop: 1 } }],
  [
    "a Strip in a sequence",
    { decoder: { type: "Sequence", decoders: [{ type: "Strip", content: "a", start: 0, stop: 1 }] } },
  ],
  ["pieces of no length", { pre_tokenizer: { type: "FixedLength", length: 0 } }],
  ...["(a+)+$", "(b|a*)*c", "([a-z]+?b*)*", "(?:\\p{L}*)+x", "(\\[+)+", "(?:a{2,}){1,}"].map(
    (regex): [string, object] => [
      `the pattern ${regex}`,
      { pre_tokenizer: { type: "Split", pattern: { Regex: regex }, behavior: "Isolated", invert: false } },
    ],
  ),
])("refuses %s", async (_name, parts) => {
  const error = await refusal(() => load(parts));
  expect(error.code).toBe("MP_PARSE");
  expect(error.message).toContain("tokenizer.json: it cannot be used (");
});

it("takes a map that is whole, and padding and a limit that would fill the memory or panic", async () => {
  const whole = charsmap(trie({ [A]: leaf(A, 3), [A ^ 3]: 0x80000000 }), [B, 0]);
  const { direction, ...rest } = { direction: "Right", pad_id: 0, pad_type_id: 0, pad_token: "a" };
  const padding = { direction, pad_to_multiple_of: null, strategy: { Fixed: 2 ** 40 }, ...rest };
  const truncation = { direction, max_length: 1, strategy: "LongestFirst", stride: 5 };
  const tokenizer = await load({ ...whole, padding, truncation });
  expect(await tokenizer.encode("ab")).toEqual([2, 2]);
});

/** Of GPT-4o, Llama 3 and Qwen, GPT-2, and for words. */
const PATTERNS = [
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
  "\\w+(?:['-]\\w+)*|(?=(?:\\d{3})+(?!\\d))| ?[^(\\s|[.,!?])]+",
];
const LONG = ["a", "A", "日", " ", "\n", " \t\n", "\u0301", "!", "7", "😀", "a'", "A日"];

it.each(PATTERNS)("encodes long texts with the pattern %#", async (Regex) => {
  const tokenizer = await load({
    pre_tokenizer: { type: "Split", pattern: { Regex }, behavior: "Isolated", invert: false },
  });
  for (const piece of LONG)
    for (const end of ["", "b", " "]) {
      const text = piece.repeat(20_000) + end;
      expect((await tokenizer.encode(text)).length).toBeGreaterThan(0);
    }
});
