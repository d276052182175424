// Tokenizers and chats beside Python's tokenizers and transformers: bench/peers/tokenizers_chats.py wrote what they give.
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { refusal } from "../../data/test/refusal.js";
import { type ChatMessage, checkFits, loadTokenizer, type Tokenizer } from "../src/tokenizer/index.js";

const fixtures = fileURLToPath(new URL("fixtures/tokenizer", import.meta.url));
const FOLDERS = ["gpt2", "qwen"] as const;
type Name = (typeof FOLDERS)[number];

interface Expected {
  readonly templates: Readonly<Record<string, string>>;
  readonly texts: readonly { text: string; ids: number[]; decoded: string; skipped: string }[];
  readonly chats: readonly {
    template: string;
    messages: ChatMessage[];
    text: string;
    ids: number[];
    mask: string;
  }[];
}

const expected = Object.fromEntries(
  await Promise.all(
    FOLDERS.map(async (name) => [
      name,
      JSON.parse(await readFile(join(fixtures, name, "expected.json"), "utf8")) as Expected,
    ]),
  ),
) as Readonly<Record<Name, Expected>>;

let directory = "";
let count = 0;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "mp-tokenizer-"));
});
afterAll(() => rm(directory, { recursive: true }));

type Fields = Record<string, unknown>;
interface Change {
  readonly tokenizer?: (fields: Fields) => Fields;
  readonly config?: (fields: Fields) => Fields;
  readonly template?: string;
}

/** A copy of a folder, with other files. */
async function folderWith(name: Name, { tokenizer, config, template }: Change = {}): Promise<string> {
  const folder = join(directory, String(count++));
  await cp(join(fixtures, name), folder, { recursive: true });
  for (const [file, change] of [
    ["tokenizer.json", tokenizer],
    ["tokenizer_config.json", config],
  ] as const) {
    if (change === undefined) continue;
    const path = join(folder, file);
    await writeFile(path, JSON.stringify(change(JSON.parse(await readFile(path, "utf8")) as Fields)));
  }
  if (template !== undefined) await writeFile(join(folder, "chat_template.jinja"), template);
  return folder;
}
/** Other fields of the model. */
const withModel = (model: Fields) => (fields: Fields) => ({
  ...fields,
  model: { ...(fields["model"] as Fields), ...model },
});
const changed = async (name: Name, change: Change): Promise<Tokenizer> =>
  loadTokenizer(await folderWith(name, change));

describe.each(FOLDERS)("a tokenizer like that of %s", (name) => {
  const { texts, chats, templates } = expected[name];

  it("gives what Python's gives", async () => {
    const tokenizer = await loadTokenizer(join(fixtures, name));
    expect(tokenizer.vocabularySize).toBe(512);
    expect(tokenizer.special).toEqual({ bos: 0, eos: 2, pad: 0 });
    for (const { text, ids, decoded, skipped } of texts) {
      expect(tokenizer.encode(text)).toEqual(ids);
      expect(tokenizer.decode(ids)).toBe(decoded);
      expect(tokenizer.decode(Int32Array.from(ids), { skipSpecialTokens: true })).toBe(skipped);
    }
  });

  it.each(Object.keys(templates))(
    "gives what transformers' gives for chats, template %s",
    async (template) => {
      const tokenizer = await changed(name, { template: templates[template] as string });
      for (const { messages, text, ids, mask } of chats.filter((chat) => chat.template === template)) {
        expect(tokenizer.applyChatTemplate(messages, { addGenerationPrompt: true })).toBe(text);
        const encoded = tokenizer.encodeChat(messages);
        expect(encoded.ids).toEqual(ids);
        expect(encoded.mask.join("")).toBe(mask);
      }
    },
  );

  it("streams any text without half a character", async () => {
    const tokenizer = await loadTokenizer(join(fixtures, name));
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 30 }), (text) => {
        const ids = tokenizer.encode(text);
        const stream = tokenizer.decodeStream();
        const pieces = ids.map((id) => stream.push(id));
        const [rest, whole] = [stream.end(), tokenizer.decode(ids)];
        expect(pieces.join("") + rest).toBe(whole);
        if (!text.includes("\uFFFD")) expect(pieces.join("")).toBe(whole);
      }),
    );
  });

  it("streams any tokens, and gives broken characters as such", async () => {
    const tokenizer = await loadTokenizer(join(fixtures, name));
    fc.assert(
      fc.property(fc.array(fc.nat(600), { maxLength: 30 }), fc.boolean(), (ids, skipSpecialTokens) => {
        const stream = tokenizer.decodeStream({ skipSpecialTokens });
        const pieces = ids.map((id) => stream.push(id));
        expect(pieces.join("") + stream.end()).toBe(tokenizer.decode(ids, { skipSpecialTokens }));
        expect(stream.end()).toBe("");
      }),
    );
  });
});

const chat: ChatMessage[] = [
  { role: "user", content: "What is 2 + 2?" },
  { role: "assistant", content: "Four.", tool_calls: null },
  { role: "user", content: "And 3?" },
  { role: "assistant", content: "Five." },
];

describe("chats", () => {
  it("passes variables on, and takes the default of several templates", async () => {
    const template =
      "{% if tools is none %}none{% endif %}|{{ style }}|{{ eos_token }}|{% if messages[1].tool_calls is defined %}null{% endif %}";
    const several = [
      { name: "tool_use", template: "no" },
      { name: "default", template },
    ];
    const tokenizer = await changed("gpt2", { config: (fields) => ({ ...fields, chat_template: several }) });
    const text = tokenizer.applyChatTemplate(chat, { variables: { style: "short" } });
    expect(text).toBe("none|short|<|im_end|>|");
  });

  it("finds answers where tokens do not keep the text, as far as tokens do not lie across their ends", async () => {
    const lowercase = (fields: Fields) => ({ ...fields, normalizer: { type: "Lowercase" } });
    const plain = await changed("gpt2", { tokenizer: lowercase });
    const { ids, mask } = plain.encodeChat(chat);
    const learned = plain.decode(ids.filter((_, at) => mask[at] === 1));
    expect(learned).toBe("four.<|im_end|>\nfive.<|im_end|>\n");
    const across = await changed("gpt2", {
      tokenizer: lowercase,
      template:
        "{% for m in messages %}{{ m.content[:3] }}{% generation %}{{ m.content[3:] }}{% endgeneration %}{% endfor %}",
    });
    const error = await refusal(async () => across.encodeChat([{ role: "assistant", content: "License" }]));
    expect(error.code).toBe("MP_INVALID_ARGUMENT");
    expect(error.message).toContain("lies across");
  });

  it("refuses a template that writes earlier answers otherwise, naming the message", async () => {
    const tokenizer = await changed("gpt2", {
      template:
        "{% for m in messages %}[{{ m.role }}]{% if m.role != 'assistant' or loop.last %}{{ m.content }}{% endif %}{% endfor %}",
    });
    const error = await refusal(async () => tokenizer.encodeChat(chat));
    expect(error).toMatchObject({ code: "MP_INVALID_ARGUMENT", details: { message: 1 } });
    const { ids, mask } = tokenizer.encodeChat(chat.slice(0, 2));
    expect(tokenizer.decode(ids.filter((_, at) => mask[at] === 1))).toBe("[assistant]Four.");
  });

  it("finds the same answers with the beginning of a further one", async () => {
    for (const template of ["unmarked", "trimmed"]) {
      const tokenizer = await changed("qwen", { template: expected.qwen.templates[template] as string });
      const { ids, mask } = tokenizer.encodeChat(chat);
      const more = tokenizer.encodeChat(chat, { addGenerationPrompt: true });
      expect(more.mask).toEqual([...mask, ...more.ids.slice(ids.length).map(() => 0)]);
      expect(more.ids.slice(0, ids.length)).toEqual(ids);
      expect(more.ids.length).toBeGreaterThan(ids.length);
    }
  });

  it("has the ranges of Python, up to those that would fill the memory", async () => {
    const ranges = "{{ range(3) }}{{ range(1, 8, 3) }}{{ range(4, 0, -2) }}{{ range(3, 1) }}";
    const written = async (template: string) => (await changed("gpt2", { template })).applyChatTemplate(chat);
    expect(await written(`\n {% if true %}${ranges}{% endif %}`)).toBe("\n[0, 1, 2][1, 4, 7][4, 2][]");
    for (const range of ["range(10000000000)", "range(1, 2, 0)", "range('a')"]) {
      const error = await refusal(() => written(`{{ ${range} | length }}`));
      expect(error.code).toBe("MP_INVALID_ARGUMENT");
      expect(error.message).toContain("range must give at most 100000 numbers");
    }
    const nested = "{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}";
    expect((await refusal(() => written(nested))).message).toContain("in all");
  });

  it("says why a template refuses messages", async () => {
    const tokenizer = await changed("gpt2", { template: "{{ raise_exception('roles must alternate') }}" });
    const error = await refusal(async () => tokenizer.applyChatTemplate(chat));
    expect(error.code).toBe("MP_INVALID_ARGUMENT");
    expect(error.message).toContain("roles must alternate");
  });
});

describe("what does not fit", () => {
  it("is a vocabulary larger than the model's", async () => {
    const tokenizer = await loadTokenizer(join(fixtures, "gpt2"));
    checkFits(tokenizer, 512);
    const error = await refusal(async () => checkFits(tokenizer, 511));
    expect(error).toMatchObject({ code: "MP_OUT_OF_RANGE", details: { file: tokenizer.file, tokens: 512 } });
    expect((await refusal(async () => checkFits(tokenizer, 0))).code).toBe("MP_INVALID_ARGUMENT");
  });

  it("is nothing of a vocabulary with holes", async () => {
    const id = fc.oneof(fc.integer({ min: 512, max: 700 }), fc.integer({ min: 512, max: 2 ** 31 - 1 }));
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(id, { minLength: 1, maxLength: 5 }), async (ids) => {
        const more = ids.map((id) => ({ id, content: `<${id}>`, special: true }));
        const tokenizer = await changed("gpt2", {
          tokenizer: (fields) => ({ ...fields, added_tokens: [...(fields["added_tokens"] as []), ...more] }),
          config: (fields) => ({ ...fields, eos_token: more[0]?.content }),
        });
        const most = Math.max(...ids);
        checkFits(tokenizer, most + 1);
        expect(tokenizer.special.eos).toBe(ids[0]);
        expect(tokenizer.decode(tokenizer.encode(`a<${most}>b`))).toBe(`a<${most}>b`);
        expect((await refusal(async () => checkFits(tokenizer, most))).code).toBe("MP_OUT_OF_RANGE");
      }),
      { numRuns: 20 },
    );
  });

  it.each(["bos_token", "eos_token", "pad_token"])(
    "is a %s that no token is, named by file and field",
    async (field) => {
      const folder = await folderWith("gpt2", { config: (fields) => ({ ...fields, [field]: "</s>" }) });
      const { code, message } = await refusal(() => loadTokenizer(folder));
      expect([code, message]).toEqual([
        "MP_PARSE",
        `loadTokenizer: ${join(folder, "tokenizer_config.json")}: its ${field} must be a token of tokenizer.json or null, got "</s>"; correct it, or take the files of the model's folder again`,
      ]);
      const without = await changed("gpt2", {
        config: (fields) => ({ ...fields, [field]: null, unk_token: "<unk>" }),
      });
      expect(Object.keys(without.special)).toEqual(
        ["bos", "eos", "pad"].filter((name) => `${name}_token` !== field),
      );
    },
  );

  it.each<[string, Change & { readonly text?: string }]>([
    ["no model", { tokenizer: ({ model: _, ...rest }) => rest }],
    [
      "a model of another kind",
      { tokenizer: (fields) => ({ ...fields, model: { type: "Other", vocab: {} } }) },
    ],
    ["an id that is no integer", { tokenizer: withModel({ vocab: { a: 0.5 } }) }],
    ["an id below 0", { tokenizer: withModel({ vocab: { a: -1 } }) }],
    ["an id beyond all models", { tokenizer: withModel({ vocab: { a: 2 ** 31 } }) }],
    [
      "a token that is no text",
      { tokenizer: (fields) => ({ ...fields, added_tokens: [{ id: 0, content: 1 }] }) },
    ],
    ["a merge of three", { tokenizer: withModel({ merges: [["a", "b", "c"]] }) }],
    ["a merge that makes no token", { tokenizer: withModel({ merges: ["a ÿ"] }) }],
    ["a merge of what is no token", { tokenizer: withModel({ merges: [["abc", "a"]] }) }],
    ["merges that are no list", { tokenizer: withModel({ merges: null }) }],
    ["an end that is no text", { config: (fields) => ({ ...fields, eos_token: { content: 2 } }) }],
    ["further special tokens that are no list", { config: () => ({ additional_special_tokens: "a" }) }],
    ["a template that is none", { template: "{% if %}" }],
    [
      "a template with an answer that does not end",
      { template: "{% generation %}{{ messages[0].content }}" },
    ],
    ["a template with an answer that does not begin", { template: "a{% endgeneration %}" }],
    ["a template of another type", { config: (fields) => ({ ...fields, chat_template: 3 }) }],
    ["no object", { config: () => [] as never }],
    [
      "a part that encodes nothing",
      {
        tokenizer: (fields) => ({
          ...fields,
          pre_tokenizer: { type: "Split", behavior: 3, pattern: { String: " " } },
        }),
      },
    ],
  ])("is %s", async (_name, change) => {
    const folder = await folderWith("gpt2", change);
    const error = await refusal(() => loadTokenizer(folder));
    expect(error.code).toBe("MP_PARSE");
    expect(error.message).toContain(folder);
  });

  it("is a file that is cut short, wherever it is", async () => {
    const bytes = (await readFile(join(fixtures, "gpt2", "tokenizer.json"), "utf8")).trimEnd();
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), async (length) => {
        const folder = join(directory, "cut");
        await mkdir(folder, { recursive: true });
        await writeFile(join(folder, "tokenizer.json"), bytes.slice(0, length));
        expect((await refusal(() => loadTokenizer(folder))).code).toBe("MP_PARSE");
      }),
      { numRuns: 20 },
    );
  });

  it.each(["tokenizers", "jinja"])(
    "is a missing package %s, named with the command that installs it",
    async (name) => {
      vi.doMock(`@huggingface/${name}`, () => {
        throw new Error("not installed");
      });
      const error = await refusal(() => loadTokenizer(join(fixtures, "gpt2")));
      vi.doUnmock(`@huggingface/${name}`);
      expect(error).toMatchObject({
        code: "MP_BACKEND_UNAVAILABLE",
        details: { packages: ["@huggingface/tokenizers", "@huggingface/jinja"] },
      });
      expect(error.message).toContain("npm install @huggingface/tokenizers @huggingface/jinja");
    },
  );

  it("is a folder without a tokenizer, or without a template", async () => {
    const folder = join(directory, "none");
    expect((await refusal(() => loadTokenizer(folder))).code).toBe("MP_IO");
    await mkdir(folder);
    await cp(join(fixtures, "gpt2", "tokenizer.json"), join(folder, "tokenizer.json"));
    const tokenizer = await loadTokenizer(folder);
    expect(tokenizer.special).toEqual({});
    const error = await refusal(async () => tokenizer.encodeChat(chat));
    expect(error.message).toContain("chat_template.jinja");
  });

  it("is a text or an id that is none, and a text without tokens", async () => {
    const tokenizer = await loadTokenizer(join(fixtures, "gpt2"));
    for (const call of [
      () => tokenizer.encode(1 as never),
      () => tokenizer.decode([-1]),
      () => tokenizer.decode([0.5]),
      () => tokenizer.decodeStream().push(-1),
      () => tokenizer.encode("a", { addBos: true } as never),
      () => tokenizer.encodeChat([{ content: "a" } as never]),
    ])
      expect((await refusal(async () => call())).code).toBe("MP_INVALID_ARGUMENT");
    const vocab = { a: 0, "##b": 1 };
    const model = { type: "WordPiece", vocab, unk_token: "[UNK]", continuing_subword_prefix: "##" };
    const words = await changed("gpt2", {
      tokenizer: (fields) => ({ ...fields, model, added_tokens: [], pre_tokenizer: { type: "Whitespace" } }),
      config: () => ({}),
    });
    expect(words.encode("ab a")).toEqual([0, 1, 0]);
    expect((await refusal(async () => words.encode("日"))).message).toContain("has no token for a part of");
  });
});
