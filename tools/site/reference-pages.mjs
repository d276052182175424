/** Changes to the pages of the reference after TypeDoc has written them. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { GUIDE_SECTIONS } from "./guide-sections.mjs";
import { headingAnchors } from "./heading-anchor.mjs";

/**
 * Gives modules their titles, and functions links to their sections of the guide.
 * @param {string} folder of Markdown files
 * @param {readonly import("./reference.mjs").Module[]} modules
 */
export function correctReference(folder, modules) {
  /** @type {Set<string>} */
  const linked = new Set();
  const index = join(folder, "index.md");
  let overview = readFileSync(index, "utf8");
  for (const { title, path } of modules) {
    const file = join(folder, `${path}.md`);
    const text = withoutRepetition(readFileSync(file, "utf8"))
      .replace(/^# .*/, `# ${title}`)
      .replace(/^### (\w+)\(\)$/gm, (heading, name) => {
        const key = [name, path].find((one) => Object.hasOwn(GUIDE_SECTIONS, one));
        if (key === undefined) return heading;
        linked.add(key);
        const place = GUIDE_SECTIONS[key] ?? "";
        return `${heading}\n\nGuide: [${place.replace(/.*#/, "").replaceAll("-", " ")}](/docs/${place})`;
      });
    writeFileSync(file, text);
    overview = overview.replace(`[${path}]`, `[${title}]`);
  }
  writeFileSync(index, overview);
  const unused = Object.keys(GUIDE_SECTIONS).filter((key) => !linked.has(key));
  if (unused.length > 0) fail(`docs: the reference has no function of ${unused.join(", ")}`);
  correctAnchors(folder);
}

/**
 * Leaves out what the signature above says: tables that list parameters, fields and results without a word about them.
 * Puts what else is short on a line of its own, without a heading. Anchors of table cells become attributes, since no
 * page may hold HTML.
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
    )
    .replace(/<a id="([^"]+)"><\/a> ((?:\\\||[^|])*?) \|/g, "$2 {#$1} |");

/**
 * Corrects links of the reference. Where a page has `BackendStats` and `Backend.stats`, whose heading is `stats`,
 * typedoc-plugin-markdown takes their names without the dot for equal, and links to `#backendstats-1`, which no
 * heading has. A link without its heading leads to the one without the number, if there is one. A link to `Trainer`
 * leads to the heading of that name, and not to that of the function `trainer`.
 * @param {string} folder of Markdown files
 */
function correctAnchors(folder) {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file.endsWith(".md"));
  const texts = new Map(files.map((file) => [file, readFileSync(join(folder, file), "utf8")]));
  const anchors = new Map([...texts].map(([file, text]) => [file, headingAnchors(text)]));
  for (const [file, text] of texts) {
    const headingsOf = (/** @type {string} */ path) =>
      anchors.get(path === "" ? file : posix.join(posix.dirname(file), path));
    const unnumbered = text.replace(/\]\(([^()#\s]*)#([\w-]+)-\d+\)/g, (link, path, anchor) => {
      const known = headingsOf(path);
      const numbered = link.slice(link.indexOf("#") + 1, -1);
      return known?.has(anchor) && !known.has(numbered) ? `](${path}#${anchor})` : link;
    });
    const corrected = unnumbered.replace(/\[`(\w+)`\]\(([^()#\s]*)#(\w+)\)/g, (link, name, path, anchor) => {
      const headings = headingsOf(path) ?? new Map();
      const [own] = [...headings].find(([, heading]) => heading === name) ?? [];
      return own === undefined || headings.get(anchor) === name ? link : `[\`${name}\`](${path}#${own})`;
    });
    if (corrected !== text) writeFileSync(join(folder, file), corrected);
  }
}
