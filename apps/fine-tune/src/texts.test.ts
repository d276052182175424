import { fileURLToPath } from "node:url";
import { loadTokenizer } from "@mp/data/tokenizer";
import { expect, it } from "vitest";
import { exampleOf } from "./texts.js";

const tokenizer = await loadTokenizer(fileURLToPath(new URL("../tiny", import.meta.url)));
const END = "<|im_end|>";

/** The text of an example, and what of it the model learns. */
function read(row: Readonly<Record<string, unknown>>) {
  const { ids, mask } = exampleOf(row, tokenizer);
  const all = Array.from(ids);
  const learned = all.filter((_, at) => mask === undefined || Number(mask[at]) === 1);
  return [tokenizer.decode(all), tokenizer.decode(learned)];
}

it("an answer counts and its prompt does not; a text counts as a whole", () => {
  expect(read({ prompt: "3 plus 4 is ", completion: "7" })).toEqual([`3 plus 4 is 7${END}`, `7${END}`]);
  expect(read({ question: "Größe?", answer: "groß" })).toEqual([`Größe?groß${END}`, `groß${END}`]);
  expect(read({ text: "a stone" })).toEqual([`a stone${END}`, `a stone${END}`]);
});

it("of a chat the answers count, with the tokens that end them", () => {
  const messages = [
    { role: "user", content: "hi" },
    { role: "assistant", content: "ho" },
  ];
  expect(read({ messages })[1]).toBe(`ho${END}`);
});

it("a row without a text is refused by the names of its columns", () => {
  expect(() => exampleOf({ q: "hi", prompt: "?" }, tokenizer)).toThrow(
    /a row must have the columns messages, or prompt and completion, .* got q, prompt/,
  );
});
