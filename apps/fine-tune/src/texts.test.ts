import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadTokenizer } from "@mp/language-models/tokenizer";
import { expect, it } from "vitest";
import { encodeRow, readExamples } from "./texts.js";

const tokenizer = await loadTokenizer(fileURLToPath(new URL("../tiny", import.meta.url)));
const END = "<|im_end|>";

/** The text of an example, and the part of it that the model learns. */
async function read(row: Readonly<Record<string, unknown>>) {
  const { ids, mask } = await encodeRow(row, tokenizer);
  const all = Array.from(ids);
  const learned = all.filter((_, at) => mask === undefined || Number(mask[at]) === 1);
  return [await tokenizer.decode(all), await tokenizer.decode(learned)];
}

it("an answer counts and its prompt does not; a text counts as a whole", async () => {
  expect(await read({ prompt: "3 plus 4 is ", completion: "7" })).toEqual([`3 plus 4 is 7${END}`, `7${END}`]);
  expect(await read({ prompt: "a cat? ", answer: "yes" })).toEqual([`a cat? yes${END}`, `yes${END}`]);
  expect(await read({ question: "Größe?", answer: "groß" })).toEqual([`Größe?groß${END}`, `groß${END}`]);
  expect(await read({ text: "a stone" })).toEqual([`a stone${END}`, `a stone${END}`]);
});

it("of a chat the answers count, with the tokens that end them", async () => {
  const messages = [
    { role: "user", content: "hi" },
    { role: "assistant", content: "ho" },
  ];
  expect((await read({ messages }))[1]).toBe(`ho${END}`);
});

it("a row without a text is refused by the names of its columns", async () => {
  await expect(encodeRow({ q: "hi", prompt: "?" }, tokenizer)).rejects.toThrow(
    /a row must have the columns messages, or prompt and completion, .* got q, prompt/,
  );
});

it.each([["prompt", "answer"], ["prompt", "completion"], ["question", "answer"], ["text"]])(
  "a value of %s … that is no text is refused by its column",
  async (...columns) => {
    for (const column of columns) {
      for (const value of [null, 5, true, ["a"], { a: 1 }]) {
        const row = { ...Object.fromEntries(columns.map((name) => [name, "a"])), [column]: value };
        await expect(encodeRow(row, tokenizer)).rejects.toThrow(
          `the column ${column} must be a text, got ${JSON.stringify(value)}`,
        );
      }
    }
  },
);

it("a row that is too long is refused by file and row, with the flag that helps", async () => {
  const folder = await mkdtemp(join(tmpdir(), "fine-tune-texts-"));
  const path = join(folder, "texts.jsonl");
  await writeFile(path, '{"text":"a"}\n{"text":"a b c d e f g"}\n');
  const rows = (await readExamples(path, tokenizer, 4)).iterate();
  await rows.next();
  await expect(rows.next()).rejects.toMatchObject({
    code: "MP_INVALID_ARGUMENT",
    message: expect.stringMatching(
      /texts\.jsonl: row 2 \(line 2\): .* pass a greater --length, or shorten it/,
    ),
  });
  await rm(folder, { recursive: true });
});
