import MarkdownIt, { type Token } from "markdown-it";
import { text as checkText } from "../check-arguments.js";

/** Most characters of a document: Markdown is parsed whole, and its parser takes several times that memory. */
export const LONGEST_MARKDOWN: number = 16 * 2 ** 20;

/** Stands for inline code that is not a plain word, as `N` stands for a number. */
const CODE_WORD = "<code>";
const FEWEST_WORDS = 5;

/** Parses in time linear in the text's length, whatever it holds. Entities are left to `tidy`. */
const markdownIt = new MarkdownIt({ html: true }).disable("entity");

/**
 * Extracts the running English text of a Markdown or MDX document, one string per paragraph or list item. Front
 * matter, headings, code, tables, HTML, images, addresses and MDX statements are left out, links become their text,
 * inline code that is not a plain word becomes `<code>`. Also left out is text that is too short for a sentence,
 * mostly code, in a script other than Latin, or nested a hundred levels deep. Takes time linear in the text's length.
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

/** The text of a token; tokens in pairs, such as emphasis or links, have none. */
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
