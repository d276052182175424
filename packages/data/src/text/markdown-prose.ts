import MarkdownIt, { type Token } from "markdown-it";
import { text as checkText } from "../check-arguments.js";

/** Markdown is parsed whole, and its parser takes several times a document's size. */
export const LONGEST_MARKDOWN: number = 16 * 2 ** 20;

/** Stands for a piece of inline code that is no plain word, as `N` stands for a number. */
const CODE_WORD = "<code>";
const FEWEST_WORDS = 5;

/** In time that grows with the text's length, whatever it holds. Entities are left to `tidy`, which wants plain characters. */
const markdownIt = new MarkdownIt({ html: true }).disable("entity");

/**
 * The running English text of a Markdown or MDX document, a paragraph or list item each. Front matter,
 * headings, code, tables, HTML, images, addresses and MDX statements are left out, links become their text,
 * inline code that is not a plain word becomes `<code>`. What is too short for a sentence, mostly code, or
 * in other scripts than Latin is not prose and is left out too, and so is what is nested a hundred levels deep. Takes
 * time in proportion to the text's length.
 */
export function markdownToProse(markdown: string): string[] {
  checkText("markdownToProse: markdown", markdown);
  const body = markdown.replace(/^\uFEFF?---\n[\s\S]*?\n---[^\S\n]*(?:\n|$)/, "");
  const tokens = markdownIt.parse(body, {});
  const paragraphs = tokens
    .filter((_, index) => tokens[index - 1]?.type === "paragraph_open")
    .map(({ children }) => tidy((children ?? []).map(inline).join("")));
  return paragraphs.filter(isProse);
}

/** The text of tokens; those that come in pairs, emphasis or links, have none. */
function inline({ type, content }: Token): string {
  switch (type) {
    case "code_inline":
      return isPlainWord(content) ? content : CODE_WORD;
    case "softbreak":
    case "hardbreak":
      return " ";
    case "image":
    case "html_inline":
      return "";
    default:
      return content;
  }
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
  ["nbsp", " "],
  ["mdash", "-"],
  ["ndash", "-"],
  ["hellip", "..."],
]);

function tidy(text: string): string {
  return text
    .replace(/&(?:#(\d{1,6})|([a-z]+));/g, (whole, digits?: string, name?: string) =>
      digits === undefined ? (ENTITIES.get(name ?? "") ?? whole) : String.fromCodePoint(Number(digits)),
    )
    .replace(/^\s*\[(?:![A-Z]+|[ xX])\]\s*|^:::\s*\w*/, "") // callouts, boxes of task lists
    .replace(/\b(?:https?:\/\/|www\.)\S+/g, CODE_WORD)
    .replace(/\s+/g, " ")
    .trim();
}

function isProse(text: string): boolean {
  if (/^(?:import|export|:::)\b/.test(text) || /[{}]/.test(text)) return false;
  const words = text.match(/(?<![<\p{L}])\p{L}[\p{L}'’-]*/gu) ?? [];
  const codes = text.split(CODE_WORD).length - 1;
  const foreign = text.match(/(?!\p{Script=Latin})\p{L}/gu) ?? [];
  const fewest = /[.?!:]["')]*$/.test(text) ? FEWEST_WORDS : 2 * FEWEST_WORDS;
  return words.length >= fewest && codes * 3 <= words.length && foreign.length * 20 < text.length;
}

function isPlainWord(code: string): boolean {
  return /^(?:[A-Z]?[a-z]{1,19}|[A-Z]{1,6})$/.test(code);
}
