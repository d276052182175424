import { expect, it } from "vitest";
import { docComments } from "./doc-comments.js";
import { markdownToProse } from "./markdown-prose.js";
import { tokenize } from "./tokenize.js";

/** Lengths of one long text, and of each of many short ones with the same total. */
const [LARGE, SMALL] = [64_000, 250];
/** Largest ratio of the two times: near 1 if time is linear in the length, 256 if it is quadratic. */
const MOST = 10;
/** Below this a measurement is noise. */
const FEWEST_MS = 10;

/** Milliseconds of this process's own computing, which other processes on the machine do not add to. */
function processorMs(body: () => void): number {
  const before = process.cpuUsage();
  body();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function growth(read: (text: string) => unknown, textOf: (length: number) => string): number {
  const [small, large] = [textOf(SMALL), textOf(LARGE)];
  const many = processorMs(() => {
    for (let turn = 0; turn < LARGE / SMALL; turn++) read(small);
  });
  return processorMs(() => read(large)) / Math.max(FEWEST_MS, many);
}

const repeated = (piece: string) => (length: number) => piece.repeat(length / piece.length);
/** Openers in the first half, closers in the second. */
const paired = (open: string, close: string) => (length: number) => {
  const count = length / (open.length + close.length);
  return `${open.repeat(count)}a${close.repeat(count)}`;
};
const pieces = [
  "*a_",
  "_*",
  "*a ",
  "a**b c* ",
  "**x [a*b**c*](d) ",
  "~~a",
  "*",
  "[",
  "![",
  "[a](",
  "[](",
  "![[]()",
  "[a](<",
  "[a](b '",
  "[[a]",
  "]",
  "[a]: b\n",
  "[a]: <b> '\n",
  "`",
  "a `` ",
  "```\n",
  "<",
  '<a b="',
  "<!-- ",
  "<?",
  "<http://",
  "&",
  "&#x",
  "\\",
  "> ",
  "> a\n- ",
  "- ",
  "- a\n  ",
  "1. ",
  "|a",
  "|a|b|\n|-|-|\n",
  "\n    ",
  "a\n",
  "\n--- ",
  "{",
  "www.a@",
];

const texts: readonly (readonly [string, (length: number) => string])[] = [
  ...pieces.map((piece) => [JSON.stringify(piece), repeated(piece)] as const),
  ["nested emphasis", paired("*a **b ", " b** a*")],
  ["nested links", paired("[", "](u)")],
  ["nested images", paired("![", "](u)")],
  ["nested brackets", paired("[", "]")],
  ["runs of backticks, each longer", (length) => runs("`", length)],
  ["runs of stars, each longer", (length) => runs("*", length)],
  ["front matter that does not end", (length) => `---\n${"\n---   x".repeat(length / 8)}`],
];

function runs(character: string, length: number): string {
  let text = "";
  for (let count = 1; text.length < length; count++) text += `e${character.repeat(count)}`;
  return text;
}

it.each(texts)("markdownToProse takes time in proportion to the text: %s", (_, textOf) => {
  expect(growth(markdownToProse, textOf)).toBeLessThan(MOST);
});

it.each([
  ["/** ", repeated("/** ")],
  ["@param", repeated("/** @param a */ ")],
  ["stars", repeated("/** * ")],
  ["line ends", (length: number) => `/** ${"\r".repeat(length)} */`],
  ["spaces in a link", (length: number) => `/** {@link a${" ".repeat(length)} */`],
  ["links", (length: number) => `/** ${"{@link ".repeat(length / 7)} */`],
  ["braces", (length: number) => `/** @param ${"{".repeat(length)} */`],
  ["spaces", (length: number) => `/** a${" ".repeat(length)}b\n${" ".repeat(length)}* c */`],
  ["ends", (length: number) => `/** ${"* ".repeat(length / 2)}`],
  ["tags", (length: number) => `/** ${"@a ".repeat(length / 3)}\n@b */`],
])("docComments takes time in proportion to the text: %s", (_, textOf) => {
  expect(growth(docComments, textOf)).toBeLessThan(MOST);
});

it.each([
  ["numbers before a letter", (length: number) => `${"1,".repeat(length / 2)}1a`],
  ["digits before a letter", (length: number) => `${"1".repeat(length)}a`],
  ["initials", (length: number) => `${"a.".repeat(length / 2)}1`],
  ["markers", repeated("<a")],
  ["parts of a word", repeated("a-")],
  ["stops", repeated(". ")],
  ["dots", repeated(".")],
  ["numbers", repeated("1.")],
  ["words in quotes", repeated("a'")],
  ["line ends", repeated(" \n")],
  ["apostrophes", repeated("'s")],
  ["one word", repeated("a")],
  ["spaces", repeated(" ")],
])("tokenize takes time in proportion to the text: %s", (_, textOf) => {
  expect(growth(tokenize, textOf)).toBeLessThan(MOST);
});
