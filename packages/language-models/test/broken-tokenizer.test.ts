// Files of a tokenizer that are damaged at random: each is refused by name, or works.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MpError } from "@mp/core";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { part } from "../../safetensors/test/soak/size.js";
import { loadTokenizer } from "../src/tokenizer/index.js";

const fixtures = fileURLToPath(new URL("fixtures/tokenizer", import.meta.url));
const FILES = ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja"] as const;
type Files = Readonly<Record<(typeof FILES)[number], string>>;

const published = async (name: string): Promise<Files> => {
  const [tokenizer, config] = await Promise.all(
    FILES.slice(0, 2).map((file) => readFile(join(fixtures, name, file), "utf8")),
  );
  const { chat_template: template = "", ...fields } = JSON.parse(config ?? "");
  return {
    "tokenizer.json": tokenizer ?? "",
    "tokenizer_config.json": JSON.stringify({ ...fields, additional_special_tokens: ["<|im_start|>"] }),
    "chat_template.jinja": template,
  };
};

/** A tokenizer of words and one of pieces with scores, with parts that the published ones lack. */
const made = (tokenizer: object): Files => ({
  "tokenizer.json": JSON.stringify({
    added_tokens: [{ id: 0, content: "<unk>", special: true, normalized: false }],
    truncation: null,
    padding: null,
    ...tokenizer,
  }),
  "tokenizer_config.json": JSON.stringify({ unk_token: "<unk>", eos_token: { content: "<unk>" } }),
  "chat_template.jinja":
    "{% macro line(m) %}{{ m.role | upper }}: {{ m['content'] | trim }}{% endmacro %}{% for m in messages if m.role %}{{ line(m) }}{{ eos_token }}{% endfor %}{% for i in range(messages | length) %}{{ i }}{% endfor %}",
});
const letters = [..."abcdefghijklmnopqrstuvwxyz0123456789"];
const ranked = (tokens: readonly string[]) => Object.fromEntries(tokens.map((token, id) => [token, id]));
const folders: readonly Files[] = [
  await published("gpt2"),
  await published("qwen"),
  made({
    normalizer: {
      type: "Sequence",
      normalizers: [
        {
          type: "BertNormalizer",
          clean_text: true,
          handle_chinese_chars: true,
          strip_accents: null,
          lowercase: true,
        },
        { type: "Replace", pattern: { Regex: "\\d+" }, content: "7" },
      ],
    },
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [{ type: "BertPreTokenizer" }, { type: "Digits", individual_digits: true }],
    },
    post_processor: { type: "BertProcessing", sep: ["<unk>", 0], cls: ["<unk>", 0] },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "<unk>",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: ranked(["<unk>", ...letters, ...letters.map((letter) => `##${letter}`)]),
    },
  }),
  made({
    normalizer: { type: "Sequence", normalizers: [{ type: "Prepend", prepend: "▁" }, { type: "NFKC" }] },
    pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
    post_processor: {
      type: "TemplateProcessing",
      single: [{ SpecialToken: { id: "<unk>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
      pair: [],
      special_tokens: { "<unk>": { id: "<unk>", ids: [0], tokens: ["<unk>"] } },
    },
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: "▁" }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        { type: "Strip", content: " ", start: 1, stop: 0 },
      ],
    },
    model: { type: "Unigram", unk_id: 0, vocab: ["<unk>", "▁", ...letters].map((token, id) => [token, -id]) },
  }),
];

/** Another value in a place of a JSON text that the steps lead to; undefined takes the place away. */
function changedAt(text: string, steps: readonly number[], value: unknown): string {
  const whole: unknown = JSON.parse(text);
  let at = whole as Record<string, unknown>;
  for (const [step, number] of steps.entries()) {
    const keys = Object.keys(at);
    const key = keys[number % keys.length];
    if (key === undefined) break;
    const inner = at[key];
    if (step === steps.length - 1 || typeof inner !== "object" || inner === null) {
      if (value !== undefined) at[key] = value;
      else if (Array.isArray(at)) at.splice(Number(key), 1);
      else delete at[key];
      break;
    }
    at = inner as Record<string, unknown>;
  }
  return JSON.stringify(whole);
}

const values = [
  ...[undefined, null, true, 0, 1, -1, 0.5, 37, 2 ** 31, 2 ** 32, 2 ** 53, 1e300],
  ...["", " ", "a", "ab c", "<unk>", "(", "\\p{X}", "BPE", "Sequence"],
  ...[[], [null], ["a", "b"], [["a", "b"]], {}, { type: "Other" }, { content: 3 }, { id: 0, content: "" }],
];
const tags = [
  "{%",
  "%}",
  "{{",
  "}}",
  "{#",
  "#}",
  "'",
  "|",
  "(",
  ")",
  "[",
  "range(10**9)",
  "{% for i in range(99999) %}",
];
const blocks = [
  "{% generation %}",
  "{% endgeneration %}",
  "{% endfor %}",
  "{% endif %}",
  "{{ x.y.z }}",
  "messages",
  "-",
  "\0",
];

/** Changes to a file. */
const damage = fc.oneof(
  {
    weight: 1,
    arbitrary: fc
      .double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
      .map((share) => (text: string) => text.slice(0, share * text.length)),
  },
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.array(fc.nat(1000), { minLength: 1, maxLength: 5 }), fc.constantFrom(...values))
      .map(
        ([steps, value]) =>
          (text: string, isJson: boolean) =>
            isJson ? changedAt(text, steps, value) : String(value) + text,
      ),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(9), fc.constantFrom(...tags, ...blocks))
      .map(([share, taken, put]) => (text: string) => {
        const at = Math.floor(share * text.length);
        return text.slice(0, at) + put + text.slice(at + taken);
      }),
  },
);

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "mp-broken-tokenizer-"));
  vi.spyOn(console, "warn").mockImplementation(() => {});
});
afterAll(() => rm(directory, { recursive: true }));

const chat = [
  { role: "user", content: "One, two 日?" },
  { role: "assistant", content: " three  7" },
];

it("works or is refused by name with a remedy, whatever is damaged", async () => {
  await mkdir(directory, { recursive: true });
  let refusals = 0;
  const attempt = async <T>(call: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await call();
    } catch (error) {
      if (!MpError.is(error)) throw error;
      expect(["MP_PARSE", "MP_INVALID_ARGUMENT"]).toContain(error.code);
      expect(error.message).toContain(directory);
      expect(error.message).toContain("; ");
      refusals++;
      return undefined;
    }
  };
  const runs = part(6000);
  await fc.assert(
    fc.asyncProperty(
      fc.nat(folders.length - 1),
      fc.constantFrom(...FILES),
      damage,
      async (folder, damaged, change) => {
        const files = folders[folder] as Files;
        for (const name of FILES) {
          const text = name === damaged ? change(files[name], name.endsWith(".json")) : files[name];
          await writeFile(join(directory, name), text);
        }
        const tokenizer = await attempt(() => loadTokenizer(directory));
        if (tokenizer === undefined) return;
        expect(tokenizer.vocabularySize).toBeGreaterThan(0);
        for (const id of Object.values(tokenizer.special)) expect(id).toBeLessThan(tokenizer.vocabularySize);
        for (const text of ["", "a b", " Größe 12\n日本 <unk><|im_end|>", "ABC\0"]) {
          const ids = await attempt(() => tokenizer.encode(text));
          for (const id of ids ?? []) expect(id).toBeLessThan(tokenizer.vocabularySize);
          const stream = tokenizer.decodeStream({ skipSpecialTokens: true });
          await attempt(() => tokenizer.decode(ids ?? []));
          await attempt(() => Promise.all([...(ids ?? []).map((id) => stream.push(id)), stream.end()]));
        }
        for (let id = 0; id < 80; id += 7) await attempt(() => tokenizer.decode([id, id + 1]));
        await attempt(() => tokenizer.applyChatTemplate(chat, { addGenerationPrompt: true }));
        await attempt(() => tokenizer.encodeChat(chat));
      },
    ),
    { numRuns: runs },
  );
  expect(refusals).toBeGreaterThan(runs / 4);
});
