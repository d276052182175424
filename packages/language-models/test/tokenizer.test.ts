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
  /** The template of chats with tools. */
  readonly toolUse?: string;
}

/** Fields of an added token, which the library wants all. */
const ADDED = { special: true, single_word: false, lstrip: false, rstrip: false, normalized: false };

/** A copy of a folder, with other files. */
async function folderWith(
  name: Name,
  { tokenizer, config, template, toolUse }: Change = {},
): Promise<string> {
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
  if (toolUse !== undefined) {
    await mkdir(join(folder, "additional_chat_templates"));
    await writeFile(join(folder, "additional_chat_templates/tool_use.jinja"), toolUse);
  }
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
      expect(await tokenizer.encode(text)).toEqual(ids);
      expect(await tokenizer.decode(ids)).toBe(decoded);
      expect(await tokenizer.decode(Int32Array.from(ids), { skipSpecialTokens: true })).toBe(skipped);
    }
  });

  it.each(Object.keys(templates))(
    "gives what transformers' gives for chats, template %s",
    async (template) => {
      const tokenizer = await changed(name, { template: templates[template] as string });
      for (const { messages, text, ids, mask } of chats.filter((chat) => chat.template === template)) {
        expect(await tokenizer.applyChatTemplate(messages, { addGenerationPrompt: true })).toBe(text);
        const encoded = await tokenizer.encodeChat(messages);
        expect(encoded.ids).toEqual(ids);
        expect(encoded.mask.join("")).toBe(mask);
      }
    },
  );

  it("streams any text without half a character", async () => {
    const tokenizer = await loadTokenizer(join(fixtures, name));
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 30 }), async (text) => {
        const ids = await tokenizer.encode(text);
        const stream = tokenizer.decodeStream();
        const pieces = await Promise.all(ids.map((id) => stream.push(id)));
        const [rest, whole] = [await stream.end(), await tokenizer.decode(ids)];
        expect(pieces.join("") + rest).toBe(whole);
        if (!text.includes("\uFFFD")) expect(pieces.join("")).toBe(whole);
      }),
    );
  });

  it("streams any tokens, and gives broken characters as such", async () => {
    const tokenizer = await loadTokenizer(join(fixtures, name));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(600), { maxLength: 30 }),
        fc.boolean(),
        async (ids, skipSpecialTokens) => {
          const stream = tokenizer.decodeStream({ skipSpecialTokens });
          let text = "";
          for (const id of ids) text += await stream.push(id);
          expect(text + (await stream.end())).toBe(await tokenizer.decode(ids, { skipSpecialTokens }));
          expect(await stream.end()).toBe("");
        },
      ),
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
  it("passes variables on", async () => {
    const template =
      "{% if tools is none %}none{% endif %}|{{ style }}|{{ eos_token }}|{% if messages[1].tool_calls is defined %}null{% endif %}";
    const tokenizer = await changed("gpt2", { template });
    const text = await tokenizer.applyChatTemplate(chat, { variables: { style: "short" } });
    expect(text).toBe("none|short|<|im_end|>|");
  });

  const config =
    (...names: string[]) =>
    (fields: Fields) => ({
      ...fields,
      chat_template: names.map((name) => ({ name, template: `${name} of the configuration` })),
    });
  it.each<[Change, string | null, string]>([
    [{ template: "file" }, "file", "file"],
    [{ template: "file", toolUse: "tool file" }, "file", "tool file"],
    [{ config: config("rag", "default") }, "default of the configuration", "default of the configuration"],
    [
      { config: config("tool_use", "default") },
      "default of the configuration",
      "tool_use of the configuration",
    ],
    [{ config: config("tool_use", "default"), template: "file" }, "file", "file"],
    [{ config: config("tool_use", "default"), toolUse: "tool file" }, null, "tool file"],
  ])(
    "take the template of their kind, from files before the configuration: %j",
    async (change, text, withTools) => {
      const tokenizer = await changed("gpt2", change);
      const rendered = tokenizer.applyChatTemplate(chat);
      if (text === null) await expect(rendered).rejects.toThrow("there is no chat template beside it");
      else expect(await rendered).toBe(text);
      expect(await tokenizer.applyChatTemplate(chat, { variables: { tools: [] } })).toBe(withTools);
    },
  );

  it("alignment-handbook#127: adds no token before the one of the template", async () => {
    const template =
      "{{ eos_token }}{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}";
    const post_processor = {
      type: "TemplateProcessing",
      single: [{ SpecialToken: { id: "<|im_end|>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
      pair: [],
      special_tokens: { "<|im_end|>": { id: "<|im_end|>", ids: [1], tokens: ["<|im_end|>"] } },
    };
    const tokenizer = await changed("gpt2", {
      template,
      tokenizer: (fields) => ({ ...fields, post_processor }),
    });
    const { ids } = await tokenizer.encodeChat([{ role: "assistant", content: "Four." }]);
    expect(await tokenizer.decode(ids)).toBe("<|im_end|>Four.");
  });

  it("finds answers where tokens do not keep the text, lie across their ends or share a character", async () => {
    // A processor that would take the spaces from the places of tokens.
    const post_processor = {
      type: "ByteLevel",
      add_prefix_space: false,
      trim_offsets: true,
      use_regex: true,
    };
    const normalizer = { type: "Lowercase" };
    const lowercase = (fields: Fields) => ({ ...fields, normalizer, post_processor });
    const learn = async (messages: readonly ChatMessage[], template?: string) => {
      const change = template === undefined ? {} : { template };
      const tokenizer = await changed("gpt2", { tokenizer: lowercase, ...change });
      const { ids, mask } = await tokenizer.encodeChat(messages);
      return tokenizer.decode(ids.filter((_, at) => mask[at] === 1));
    };
    expect(await learn(chat)).toBe("four.<|im_end|>\nfive.<|im_end|>\n");
    const template =
      "{% for m in messages %}{{ m.before }}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}";
    for (const [before, content, learned] of [
      ["Work", "s", "s"],
      ["😀𝒜", " Größe😀", " größe😀"],
      ["a", "  ", "  "],
      ["e", "\u0301x 𝒜 ", "\u0301x 𝒜 "],
    ] as const)
      expect(await learn([{ role: "assistant", before, content }], template)).toContain(learned);
  });

  it("refuses a template that writes earlier answers otherwise, naming the message", async () => {
    const tokenizer = await changed("gpt2", {
      template:
        "{% for m in messages %}[{{ m.role }}]{% if m.role != 'assistant' or loop.last %}{{ m.content }}{% endif %}{% endfor %}",
    });
    const error = await refusal(async () => tokenizer.encodeChat(chat));
    expect(error).toMatchObject({ code: "MP_INVALID_ARGUMENT", details: { message: 1 } });
    const { ids, mask } = await tokenizer.encodeChat(chat.slice(0, 2));
    expect(await tokenizer.decode(ids.filter((_, at) => mask[at] === 1))).toBe("[assistant]Four.");
  });

  it("finds the same answers with the beginning of a further one", async () => {
    for (const template of ["unmarked", "trimmed"]) {
      const tokenizer = await changed("qwen", { template: expected.qwen.templates[template] as string });
      const { ids, mask } = await tokenizer.encodeChat(chat);
      const more = await tokenizer.encodeChat(chat, { addGenerationPrompt: true });
      expect(more.mask).toEqual([...mask, ...more.ids.slice(ids.length).map(() => 0)]);
      expect(more.ids.slice(0, ids.length)).toEqual(ids);
      expect(more.ids.length).toBeGreaterThan(ids.length);
    }
  });

  it("says why a template refuses messages", async () => {
    const tokenizer = await changed("gpt2", { template: "{{ raise_exception('roles must alternate') }}" });
    const error = await refusal(async () => tokenizer.applyChatTemplate(chat));
    expect(error.code).toBe("MP_INVALID_ARGUMENT");
    expect(error.message).toContain("roles must alternate");
  });
});

it("cleans spaces up where the configuration wants it, as transformers does, but not for BPE", async () => {
  const words = ["x", ..."it . ? ! , ' n't 'm 's 've 're".split(" ")];
  const vocab = Object.fromEntries(words.map((word, id) => [word, id]));
  const model = { type: "WordLevel", unk_token: "x", vocab };
  const text = "it . it ? it ! it , it ' it it n't it 'm it 's it 've it 're it .";
  const decoded = async (isCleanedUp: boolean) => {
    const tokenizer = await changed("gpt2", {
      tokenizer: () => ({ added_tokens: [], pre_tokenizer: { type: "WhitespaceSplit" }, model }),
      config: () => ({ clean_up_tokenization_spaces: isCleanedUp }),
    });
    return tokenizer.decode(await tokenizer.encode(text));
  };
  expect(await decoded(false)).toBe(text);
  expect(await decoded(true)).toBe("it. it? it! it, it'it itn't it'm it's it've it're it.");
});

describe("what does not fit", () => {
  it("is a vocabulary larger than the model's", async () => {
    const tokenizer = await loadTokenizer(join(fixtures, "gpt2"));
    checkFits(tokenizer, 512);
    const error = await refusal(async () => checkFits(tokenizer, 511));
    expect(error).toMatchObject({ code: "MP_OUT_OF_RANGE", details: { file: tokenizer.file, tokens: 512 } });
    expect((await refusal(async () => checkFits(tokenizer, 0))).code).toBe("MP_INVALID_ARGUMENT");
  });

  it("is nothing of a vocabulary with holes, where added tokens have the ids that the library gives", async () => {
    const id = fc.oneof(fc.integer({ min: 513, max: 700 }), fc.integer({ min: 513, max: 2 ** 32 - 2 }));
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(id, { minLength: 1, maxLength: 5 }), async (ids) => {
        const tokenizer = (isAdded: boolean) => (fields: Fields) => {
          const { vocab, ...model } = fields["model"] as { vocab: Fields };
          const more = Object.fromEntries(ids.map((each) => [`<${each}>`, each]));
          const added = Object.entries(more).map(([content, id]) => ({ content, id, ...ADDED }));
          return {
            ...fields,
            added_tokens: [...(fields["added_tokens"] as []), ...added],
            model: { ...model, vocab: isAdded ? vocab : { ...vocab, ...more } },
          };
        };
        const config = (fields: Fields) => ({ ...fields, eos_token: `<${ids[0]}>` });
        const read = await changed("gpt2", { tokenizer: tokenizer(false), config });
        const most = Math.max(...ids);
        checkFits(read, most + 1);
        expect(read.special.eos).toBe(ids[0]);
        expect(await read.decode(await read.encode(`a<${most}>b`))).toBe(`a<${most}>b`);
        expect((await refusal(async () => checkFits(read, most))).code).toBe("MP_OUT_OF_RANGE");
        const error = await refusal(() => changed("gpt2", { tokenizer: tokenizer(true), config }));
        expect(error.message).toContain(
          `its token "<${ids[0]}>" must have the id 512, which comes next, got ${ids[0]}`,
        );
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

  it("is a missing package, named with the command that installs it", async () => {
    vi.doMock("tokenizers", () => {
      throw new Error("not installed");
    });
    const error = await refusal(() => loadTokenizer(join(fixtures, "gpt2")));
    vi.doUnmock("tokenizers");
    expect(error).toMatchObject({ code: "MP_BACKEND_UNAVAILABLE", details: { package: "tokenizers" } });
    expect(error.message).toContain("npm install tokenizers@0.23");
  });

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
      () => tokenizer.encode("a\uD83D"),
      () => tokenizer.decode([-1]),
      () => tokenizer.decode([0.5]),
      () => tokenizer.decode([2 ** 32]),
      () => tokenizer.decodeStream().push(-1),
      () => tokenizer.encode("a", { addBos: true } as never),
      () => tokenizer.encodeChat([{ content: "a" } as never]),
    ])
      expect((await refusal(async () => call())).code).toBe("MP_INVALID_ARGUMENT");
    const vocab = { a: 0, "##b": 1 };
    const model = {
      type: "WordPiece",
      vocab,
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 9,
    };
    const words = await changed("gpt2", {
      tokenizer: (fields) => ({ ...fields, model, added_tokens: [], pre_tokenizer: { type: "Whitespace" } }),
      config: () => ({}),
    });
    expect(await words.encode("ab a")).toEqual([0, 1, 0]);
    expect((await refusal(async () => words.encode("日"))).message).toContain("has no token for a part of");
  });
});
