/** Finds relative links of Markdown files that lead to no file, or to no heading of the file. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { headingAnchors } from "./heading-anchor.mjs";

/**
 * @param {string} folder
 * @param {readonly string[]} files Markdown files below it
 * @returns {{ count: number; problems: readonly string[] }} a sentence for each broken link
 */
export function findBrokenLinks(folder, files) {
  const pages = new Map(files.map((file) => [file, readFileSync(join(folder, file), "utf8")]));
  /** @type {Map<string, ReadonlyMap<string, string>>} */
  const anchors = new Map();
  /** @param {string} page @param {string} anchor */
  const hasAnchor = (page, anchor) => {
    const known = anchors.get(page) ?? headingAnchors(pages.get(page) ?? "");
    anchors.set(page, known);
    return known.has(decodeURIComponent(anchor));
  };
  let count = 0;
  const problems = [...pages].flatMap(([file, text]) =>
    [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = ""]) => {
      if (/^[a-z]+:/.test(target)) return [];
      count++;
      const [path = "", anchor] = target.split("#");
      const from = path.startsWith("/") ? "." : dirname(file);
      const wanted = path === "" ? file : decodeURIComponent(posix.join(from, path));
      // A page of the site is linked to without its ending.
      const page = [wanted, `${wanted}.md`, posix.join(wanted, "index.md")].find((one) => pages.has(one));
      if (page === undefined)
        return existsSync(join(folder, wanted)) ? [] : [`${file}: the link to ${target} leads nowhere`];
      if (anchor === undefined || hasAnchor(page, anchor)) return [];
      return [`${file}: the link to ${target} leads to no heading`];
    }),
  );
  return { count, problems };
}
