/** A plugin of TypeDoc: shortens the pages of the reference, and links their functions to the guide. */
import { MarkdownPageEvent, MarkdownRendererEvent } from "typedoc-plugin-markdown";
import { GUIDE_SECTIONS } from "./guide-sections.mjs";

/** @param {import("typedoc-plugin-markdown").MarkdownApplication} app */
export function load(app) {
  const unused = new Set(Object.keys(GUIDE_SECTIONS));
  app.renderer.on(MarkdownPageEvent.END, (page) => {
    page.contents = withAnchors(withoutRepetition(page.contents ?? "")).replace(
      /^### (\w+)\(\)( \{#.*\})?$/gm,
      (heading, name) => {
        const key = [name, page.model.name].find((one) => Object.hasOwn(GUIDE_SECTIONS, one));
        if (key === undefined) return heading;
        unused.delete(key);
        const section = GUIDE_SECTIONS[key] ?? "";
        return `${heading}\n\nGuide: [${section.replace(/.*#/, "").replaceAll("-", " ")}](/docs/${section})`;
      },
    );
  });
  app.renderer.on(MarkdownRendererEvent.END, () => {
    for (const key of unused) app.logger.warn(`guide-sections.mjs: the reference has no function of ${key}`);
  });
}

/**
 * Leaves out tables of parameters, fields and results without descriptions: the signature above lists them.
 * Puts each short section that remains on one line, without a heading.
 * @param {string} text
 */
const withoutRepetition = (text) =>
  text
    .replace(/^#+ (Type )?Parameters\n\n(\|(?!.*Description).*\n)(\|.*\n)+\n/gm, "")
    .replace(/^#+ Returns\n\n.*\n(\n(?=#|\*\*\*)|(?![\s\S]))/gm, "")
    .replace(/^#+ Properties\n\n(?=\|)/gm, "")
    .replace(/^\| `\w+\??\.[^`]*` \|.*\| - \|\n/gm, "")
    .replace(/^#+ (Throws|Returns)\n\n/gm, "**$1:** ")
    .replace(
      /^#+ (Extends|Extended by)\n\n((?:- .*\n)+)/gm,
      (_, title, list) => `**${title}:** ${list.trim().slice(2).replaceAll("\n- ", ", ")}\n`,
    );

/**
 * Writes anchors of table cells as attributes, because pages must not contain HTML, and `-` for `_` in all anchors, as
 * the theme does only in some links. The title gets the anchor `page`, so that a function may have the page's name.
 * @param {string} text
 */
const withAnchors = (text) =>
  text
    .replace(/^# .*/, "$& {#page}")
    .replace(/<a id="([^"]+)"><\/a> ((?:\\\||[^|])*?) \|/g, "$2 {#$1} |")
    .replace(/(?<=\{#|\]\([^()\s]*#)[\w-]+(?=[)}])/g, (anchor) => anchor.replaceAll("_", "-"));
