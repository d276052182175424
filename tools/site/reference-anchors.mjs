import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { headingAnchors } from "./heading-anchor.mjs";

/**
 * Corrects links of the reference. Where a page has `BackendStats` and `Backend.stats`, whose heading is `stats`,
 * typedoc-plugin-markdown takes their names without the dot for equal, and links to `#backendstats-1`, which no
 * heading has. A link without its heading leads to the one without the number, if there is one.
 * @param {string} folder of Markdown files
 */
export function correctAnchors(folder) {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file.endsWith(".md"));
  const texts = new Map(files.map((file) => [file, readFileSync(join(folder, file), "utf8")]));
  const anchors = new Map([...texts].map(([file, text]) => [file, headingAnchors(text)]));
  for (const [file, text] of texts) {
    const corrected = text.replace(/\]\(([^()#\s]*)#([\w-]+)-\d+\)/g, (link, path, anchor) => {
      const known = anchors.get(path === "" ? file : posix.join(posix.dirname(file), path));
      const numbered = link.slice(link.indexOf("#") + 1, -1);
      return known?.has(anchor) && !known.has(numbered) ? `](${path}#${anchor})` : link;
    });
    if (corrected !== text) writeFileSync(join(folder, file), corrected);
  }
}
