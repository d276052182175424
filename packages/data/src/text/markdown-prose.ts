import { MpError } from "@mp/core";
import { lexer, type Token, type TokensList } from "marked";
import { text as checkText } from "../check-arguments.js";

/** Markdown is parsed whole, and its parser takes several times a document's size. */
export const LONGEST_MARKDOWN: number = 16 * 2 ** 20;

/** Stands for a piece of inline code that is no plain word, as `N` stands for a number. */
const CODE_WORD = "<code>";
const FEWEST_WORDS = 5;

/**
 * The running English text of a Markdown or MDX document, a paragraph or list item each. Front matter,
 * headings, code, tables, HTML, images, addresses and MDX statements are left out, links become their text,
 * inline code that is not a plain word becomes `<code>`. What is too short for a sentence, mostly code, or
 * in other scripts than Latin is not prose and is left out too.
 * @param name how an error speaks of the document
 * @throws MP_PARSE for one nested some thousands deep
 */
export function markdownToProse(markdown: string, name = "markdownToProse"): string[] {
  checkText("markdownToProse: markdown", markdown);
  const body = markdown.replace(/^\uFEFF?---\n[\s\S]*?\n---[^\S\n]*(?:\n|$)/, "");
  const paragraphs: string[] = [];
  collect(parse(body, name), paragraphs);
  return paragraphs;
}

function parse(markdown: string, name: string): TokensList {
  try {
    return lexer(markdown);
  } catch (cause) {
    // The parser recurses into quotes and lists without a bound of its own.
    if (!(cause instanceof RangeError)) throw cause;
    throw new MpError("MP_PARSE", `${name}: Markdown nested too deeply to be read`, {
      details: { name },
      cause,
    });
  }
}

function collect(tokens: readonly Token[], into: string[]): void {
  let loose = "";
  const flush = (): void => {
    const text = tidy(loose);
    if (isProse(text)) into.push(text);
    loose = "";
  };
  for (const token of tokens) {
    switch (token.type) {
      case "paragraph":
        flush();
        loose = inline(token);
        flush();
        break;
      // The text of a tight list item.
      case "text":
        loose += ` ${inline(token)}`;
        break;
      case "blockquote":
        flush();
        collect(childrenOf(token), into);
        break;
      case "list":
        flush();
        for (const item of (token as { items?: Token[] }).items ?? []) collect(childrenOf(item), into);
        break;
      default:
        flush();
    }
  }
  flush();
}

function inline(token: Token): string {
  switch (token.type) {
    case "codespan":
      return isPlainWord(textOf(token)) ? textOf(token) : CODE_WORD;
    case "image":
    case "html":
      return "";
    case "br":
      return " ";
    default: {
      const children = childrenOf(token);
      return children.length > 0 ? children.map(inline).join("") : textOf(token);
    }
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
    .replace(/^\s*\[![A-Z]+\]\s*|^:::\s*\w*/, "") // callouts
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

function childrenOf(token: Token): readonly Token[] {
  return (token as { tokens?: Token[] }).tokens ?? [];
}

function textOf(token: Token): string {
  return (token as { text?: string }).text ?? "";
}
