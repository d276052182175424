// Chats beside transformers' apply_chat_template: bench/peers/chat_templates.py wrote what it gives.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { MpError } from "@mp/core";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { refusal } from "../../data/test/refusal.js";
import { seed } from "../../safetensors/test/soak/size.js";
import { type ChatMessage, type ChatTemplate, renderChat } from "../src/tokenizer/chat-template.js";

type Text = string | readonly [length: number, sha256: string] | null;
type Fields = Readonly<Record<string, unknown>> & { readonly messages: readonly ChatMessage[] };
interface Expected {
  readonly templates: readonly (readonly [name: string, source: string])[];
  readonly chats: readonly (readonly [name: string, chat: Fields])[];
  readonly rendered: readonly (readonly [
    template: number,
    chat: number,
    prompt: boolean,
    text: Text,
    spans: readonly number[][],
  ])[];
  readonly variables: readonly Fields[];
  readonly expressions: readonly (readonly [source: string, variables: number, text: Text])[];
}

/** Integers beyond 2^53 become a BigInt. */
const readFixture = <T>(name: string): T =>
  JSON.parse(
    readFileSync(new URL(`fixtures/chats/${name}`, import.meta.url), "utf8").replace(
      /"(n|big)": (\d{16,})/g,
      '"$1": "bigint $2"',
    ),
    (_, value) => (typeof value === "string" && value.startsWith("bigint ") ? BigInt(value.slice(7)) : value),
  );
const expected = readFixture<Expected>("transformers.json");

// The limits of time are over where a test says so, however long a busy machine takes.
beforeAll(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterAll(() => void vi.useRealTimers());

const SPECIAL = { bos_token: "<s>", eos_token: "</s>", unk_token: "<unk>", pad_token: "<pad>" };
const variablesOf = (fields: Fields, prompt = false) => ({
  tools: null,
  documents: null,
  ...SPECIAL,
  ...fields,
  add_generation_prompt: prompt,
});

const rendered = async (template: ChatTemplate, variables: object) =>
  (await renderChat(template, { ...variables })).text;

/** As the fixture writes it; null for a refusal. */
async function written(rendering: Promise<string>): Promise<Text> {
  try {
    const text = await rendering;
    if ([...text].length <= 200) return text;
    return [[...text].length, createHash("sha256").update(text).digest("hex").slice(0, 16)];
  } catch (error) {
    if (MpError.is(error, "MP_INVALID_ARGUMENT") || MpError.is(error, "MP_PARSE")) return null;
    throw error;
  }
}

describe("as transformers", () => {
  it.each(expected.templates.map(([name, source], at) => [name, source, at] as const))(
    "%s",
    async (_name, source, at) => {
      const template = { file: "template", source };
      for (const [, chat, prompt, text, spans] of expected.rendered.filter(([index]) => index === at)) {
        const [name, fields] = expected.chats[chat] as (typeof expected.chats)[number];
        const variables = variablesOf(fields, prompt);
        expect([name, await written(rendered(template, variables))]).toEqual([name, text]);
        if (text !== null && source.includes("endgeneration"))
          expect((await renderChat(template, variables, true)).spans).toEqual(spans);
      }
    },
  );

  it("a third of 1000 random templates, others each day", async () => {
    const wrong: unknown[] = [];
    for (const [source, variables, text] of expected.expressions.filter((_, at) => at % 3 === seed % 3)) {
      const fields = expected.variables[variables] as Fields;
      const got = await written(rendered({ file: "template", source }, variablesOf(fields)));
      if (JSON.stringify(got) !== JSON.stringify(text)) wrong.push([source, variables, got, text]);
    }
    expect(wrong).toEqual([]);
  });
});

interface Case {
  readonly report: string;
  readonly source: string;
  readonly messages: readonly ChatMessage[];
  readonly variables?: object;
  readonly text: string;
}
const asked = [
  { role: "user", content: "w?" },
  { role: "assistant", content: "" },
];
const render = (source: string, messages: readonly ChatMessage[] = asked, variables: object = {}) =>
  rendered({ file: "chat_template.jinja", source }, variablesOf({ messages, ...variables }));

describe("bugs of others", () => {
  it.each(readFixture<readonly Case[]>("bugs.json"))(
    "$report: $source",
    async ({ source, messages, variables, text }) => {
      expect(await render(source, messages, variables)).toBe(text);
    },
  );
});

describe("values", () => {
  it("come as JavaScript has them", async () => {
    const x = [
      1.0,
      -0,
      0.5,
      1e21,
      2n ** 70n,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      undefined,
      null,
      "\ud800",
      "\u2028",
    ];
    expect(await render("{{ x }}", asked, { x })).toBe(
      "[1, 0, 0.5, 1e+21, 1180591620717411303424, nan, inf, None, None, '\\ud800', '\\u2028']",
    );
    const fields = {
      no: undefined,
      none: null,
      image: Uint8Array.of(1),
      run() {},
      at: new Date(0),
      list: [undefined, 1],
    };
    expect(await render("{{ x }}", asked, { x: fields })).toBe(
      "{'none': None, 'image': '<Uint8Array>', 'run': '<Function>', 'at': '<Date>', 'list': [None, 1]}",
    );
    expect(await render("{{ '\ud83d' ~ '\ude00' ~ x }}", asked, { x: "\udfff😀" })).toBe(
      "\ud83d\ude00\udfff😀",
    );
  });

  it("are those of any JSON", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (x) => {
        expect(JSON.parse(await render("{{ x | tojson }}", asked, { x }))).toEqual(
          JSON.parse(JSON.stringify(x)),
        );
      }),
    );
  });

  it("of spans count code points, as Python and tokens do", async () => {
    const messages = [
      { role: "user", content: "😀" },
      { role: "assistant", content: "日😀!" },
    ];
    for (const source of [
      "{% for m in messages %}{{ m.content }}{% endfor %}",
      "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% else %}{% generation %}{{ m.content }}{% endgeneration %}{% endif %}{% endfor %}",
    ]) {
      const { text, spans } = await renderChat({ file: "t", source }, variablesOf({ messages }), true);
      expect(spans.map((span) => [...text].slice(...span).join(""))).toEqual(["日😀!"]);
    }
  });

  it("of the clock are the time here", async () => {
    const today = (): string => `${new Date().getFullYear()} ${new Date().getDate()}`;
    const before = today();
    const rendered = await render("{{ strftime_now('%Y %-d') }}");
    // The day may end meanwhile.
    expect([before, today()]).toContain(rendered);
  });
});

describe("refusals", () => {
  it.each<[string, string, number | null]>([
    ["a\n{% if %}", "Expected an expression", 2],
    ["{% generation %}{{ messages[0].content }}", "Unexpected end of template", 1],
    ["a{% endgeneration %}", "unknown tag 'endgeneration'", 1],
    ["a\n\n{{ 1 | color }}", "No filter named 'color'", 3],
    [`{{ ${"(".repeat(5000)}1${")".repeat(5000)} }}`, "RecursionError", null],
    ["{% for x in [1] %}".repeat(30) + "{% endfor %}".repeat(30), "too many statically nested blocks", null],
  ])("names file and line of the invalid template %j", async (source, problem, line) => {
    const error = await refusal(() => render(source));
    expect(error.code).toBe("MP_PARSE");
    expect(error.message).toContain(problem);
    expect(error.message).toMatch(/^chat_template\.jinja: the chat template cannot be read/);
    if (line !== null) expect(error.message).toContain(`, line ${line} (`);
  });

  it.each([
    ["{{ raise_exception('roles must alternate') }}", "refuses the messages: roles must alternate (line 1)"],
    ["\n{{ a.b }}", "'a' is undefined (line 2)"],
    ["{{ 1 + 'a' }}", "TypeError: unsupported operand"],
    ["{{ range(10**9) | length }}", "OverflowError: Range too big"],
    ["{{ ''.__class__.__mro__ }}", "access to attribute '__class__' of 'str' object is unsafe"],
    ["{{ cycler.__init__.__globals__ }}", "is unsafe"],
    ["{{ messages.append(1) }}", "is unsafe"],
    ["{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}", "RecursionError"],
    ["{{ namespace(_a=1) }}", "cannot store underscore-prefixed"],
  ])("gives Python's reason: %s", async (source, problem) => {
    const error = await refusal(() => render(source));
    expect(error.code).toBe("MP_INVALID_ARGUMENT");
    expect(error.message).toContain(problem);
  });

  it("names no messages, tools that are none, and data without an end", async () => {
    const circle: { messages?: unknown } = {};
    circle.messages = [circle];
    for (const [call, problem] of [
      [() => render("a", []), "empty conversation"],
      [() => render("a", asked, { tools: ["f"] }), "tools must be a list of objects"],
      [() => render("a", asked, { x: circle }), "call stack"],
    ] as const) {
      const error = await refusal(call);
      expect([error.code, error.message]).toEqual(["MP_INVALID_ARGUMENT", expect.stringContaining(problem)]);
    }
  });

  it("bounds the memory, and renders the next chat", async () => {
    const doubling =
      "{% set ns = namespace(s='aaaa') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}";
    const [error, next] = await Promise.all([refusal(() => render(doubling)), render("{{ 1 }}")]);
    expect(error.code).toBe("MP_INVALID_ARGUMENT");
    expect(error.message).toContain("takes more memory than 512 MiB");
    expect(next).toBe("1");
  });

  it("bounds the time, and renders the next chat", async () => {
    await render("open");
    vi.clearAllTimers();
    const endless = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}";
    const refused = refusal(() => render(endless));
    // The thread has begun when the queue has reached it.
    while (vi.getTimerCount() === 0) await new Promise(setImmediate);
    vi.advanceTimersByTime(10_000);
    const error = await refused;
    expect([error.code, error.details]).toEqual([
      "MP_INVALID_ARGUMENT",
      { file: "chat_template.jinja", problem: "it takes longer than 10 s" },
    ]);
    expect(await render("{{ 1 }}")).toBe("1");
  });
});

describe("the thread", () => {
  it("ends when it is idle, and opens again", async () => {
    const ends = vi.spyOn(Worker.prototype, "terminate");
    await render("a");
    expect(ends).not.toHaveBeenCalled();
    vi.advanceTimersByTime(60_000);
    expect(ends).toHaveBeenCalledTimes(1);
    expect(await render("{{ 2 }}")).toBe("2");
  });

  const fixture = JSON.stringify(fileURLToPath(new URL("fixtures/tokenizer/gpt2", import.meta.url)));
  const head = `
    import { loadTokenizer } from ${JSON.stringify(new URL("../dist/tokenizer.js", import.meta.url).href)};
    const chat = (await loadTokenizer(${fixture})).applyChatTemplate([{ role: "user", content: "Hi" }]);`;
  const runNode = async (...args: readonly string[]) =>
    (await promisify(execFile)(process.execPath, args)).stdout.trim();

  const folder = mkdtempSync(join(tmpdir(), "mp-chat-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const asFile = (program: string) => {
    writeFileSync(join(folder, "program.mjs"), program);
    return join(folder, "program.mjs");
  };

  it.each([
    ["text", (program: string) => ["--input-type=module", "-e", program]],
    ["a file with mapped sources", (program: string) => ["--enable-source-maps", asFile(program)]],
  ] as const)("does not keep a process alive, whose program is %s", async (_, args) => {
    const program = `${head}
      console.log((await chat).includes("Hi"));
      const start = performance.now();
      process.on("exit", () => console.log(performance.now() - start < 50_000));`;
    expect(await runNode(...args(program))).toBe("true\ntrue");
  });

  it("names the command that installs a missing pyodide", async () => {
    const hooks = `export const resolve = (name, context, next) => next(name === "pyodide" ? "not-there" : name, context);`;
    const asUrl = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
    const without = `import { register } from "node:module"; register(${JSON.stringify(asUrl(hooks))});`;
    const program = `${head} await chat.catch(({ code, message }) => console.log(code, message));`;
    const printed = await runNode("--import", asUrl(without), asFile(program));
    expect(printed).toMatch(/^MP_BACKEND_UNAVAILABLE .*; npm install pyodide@314\.0\.7$/);
  });
});
