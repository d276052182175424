import MarkdownIt, { type Token } from "markdown-it";
import { text as checkText } from "../check-arguments.js";
import { readTextFile } from "../text-file.js";

/** Largest length of a document in bytes, because Markdown is parsed whole, in several times as much memory. */
const LONGEST_MARKDOWN = 16 * 2 ** 20;

/** Reads a document; lines end with \n. @throws MP_IO, MP_PARSE as `readTextFile` */
export const readMarkdown = async (path: string): Promise<string> =>
  (await readTextFile(path, LONGEST_MARKDOWN)).replace(/\r\n?/g, "\n");

/** Stands for inline code that is not a plain word, as `N` stands for a number. */
const CODE_WORD = "<code>";
const FEWEST_WORDS = 5;

/** Parses in time linear in the text's length, whatever it holds. */
const markdownIt = new MarkdownIt({ html: true });

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
  if (type === "code_inline") return isPlainWord(content) ? content : CODE_WORD;
  return TEXT[type] ?? content;
}

/** The text of tokens whose content does not count, by their type. */
const TEXT: Readonly<Record<string, string>> = { softbreak: " ", hardbreak: " ", image: "", html_inline: "" };

function tidy(text: string): string {
  return text
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

const isPlainWord = (code: string): boolean => /^(?:[A-Z]?[a-z]{1,19}|[A-Z]{1,6})$/.test(code);
