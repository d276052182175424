import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { docComments } from "./doc-comments.js";
import { markdownToProse } from "./markdown-prose.js";

describe("markdownToProse", () => {
  it("keeps running text and leaves the rest", () => {
    const markdown = [
      "---",
      "title: A title of many words that is no prose.",
      "---",
      "# A heading of more than five words here",
      "",
      "The [first link](https://example.org/a) leads to **bold _and_ slanted** text &amp; more.",
      "It goes on here.",
      "",
      "```js",
      "const code = 'is not prose, not even with a full stop.';",
      "```",
      "",
      "    indented code is not prose either, at all.",
      "",
      "| A table | is not prose |",
      "|---|---|",
      "| because its cells | are fragments of text. |",
      "",
      "<div>HTML blocks are left out, with their text inside.</div>",
      "",
      "- A list item that is a sentence.",
      "- A second one:",
      "",
      "  with a paragraph of its own below it.",
      "  - And a nested list item as well.",
      "",
      "> A quoted sentence is prose as well.",
      "",
      "![an image of some words in a row.](x.png)",
      "",
      "Set `value` to `a.b(c)` or see https://example.org/path for more about it.",
    ].join("\n");
    expect(markdownToProse(markdown)).toEqual([
      "The first link leads to bold and slanted text & more. It goes on here.",
      "A list item that is a sentence.",
      "with a paragraph of its own below it.",
      "And a nested list item as well.",
      "A quoted sentence is prose as well.",
      "Set value to <code> or see <code> for more about it.",
    ]);
  });

  it.each([
    ["a fragment", "Only three words."],
    ["words without a sentence's end", "alpha beta gamma delta epsilon zeta"],
    ["mostly code", "`a()` `b()` `c()` and `d()` or `e()` with `f()` as one."],
    ["another script", "これは日本語の文章です。 これは日本語の文章です a b c d e."],
    ["an MDX import", 'import { Something } from "some/where/else/in/the/tree";'],
    ["template syntax", "Shown {value} with some words of text around it."],
    ["nothing", ""],
    ["front matter alone", "---\na: b\n---"],
  ])("leaves out %s", (_, markdown) => {
    expect(markdownToProse(markdown)).toEqual([]);
  });

  it("leaves out what is nested deeper than any writer would, and reads on after it", () => {
    const sentence = "This sentence stands after the quotes and is prose.";
    expect(markdownToProse(`${"> ".repeat(20_000)}a\n\n${sentence}`)).toEqual([sentence]);
  });

  it("keeps the text of a task, without its box", () => {
    expect(markdownToProse("- [x] This task was done some time ago.\n")).toEqual([
      "This task was done some time ago.",
    ]);
  });

  it("takes any text", () => {
    const piece = fc.constantFrom(
      "# ",
      "> ",
      "- ",
      "```",
      "`",
      "**",
      "[a](b)",
      "<p>",
      "|",
      "\n",
      "\n\n",
      "word ",
      ". ",
      "&#9;",
    );
    const document = fc.array(fc.oneof(piece, fc.string({ unit: "grapheme" })), { maxLength: 60 });
    fc.assert(
      fc.property(document, (pieces) => {
        for (const paragraph of markdownToProse(pieces.join(""))) expect(paragraph).not.toMatch(/\n|^$/);
      }),
      { numRuns: 500 },
    );
  });
});

describe("docComments", () => {
  it("reads the description and what tags say in words", () => {
    const source = [
      "/**",
      " * Starts the server, see {@link listen} and {@link close|how it stops}.",
      " * @example",
      " *   start(8080);",
      " * @param port - The port to listen on.",
      " * @param {string} host The address to bind.",
      " * @returns A handle of the server.",
      " * @since v1.0.0 which is not text",
      " */",
      "export declare function start(port: number, host: string): Handle;",
      "/* not documentation */",
      "/** One line. */",
    ].join("\n");
    expect(docComments(source)).toEqual([
      [
        "Starts the server, see `listen` and how it stops.",
        "The port to listen on.",
        "The address to bind.",
        "A handle of the server.",
      ].join("\n\n"),
      "One line.",
    ]);
  });
});
