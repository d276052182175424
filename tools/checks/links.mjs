/**
 * Every relative link in a committed Markdown file must lead to a file, and its anchor to a heading there; the README links
 * to every page of docs.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { headingAnchors } from "../site/heading-anchor.mjs";
import { root } from "../workspace/packages.mjs";
import { repositoryFiles } from "../workspace/repository-files.mjs";

const files = repositoryFiles("*.md");

/** @param {string} file */
const textOf = (file) => readFileSync(join(root, file), "utf8");

/** @param {string} file */
function anchorsOf(file) {
  const written = [...textOf(file).matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, name = ""]) => name);
  return new Set(headingAnchors(textOf(file), written).keys());
}

/** @type {Map<string, ReadonlySet<string>>} */
const known = new Map();
/** @param {string} page @param {string} anchor */
function hasAnchor(page, anchor) {
  const anchors = known.get(page) ?? anchorsOf(page);
  known.set(page, anchors);
  return anchors.has(decodeURIComponent(anchor));
}

let links = 0;
let broken = 0;
for (const file of files) {
  for (const [, target = ""] of textOf(file).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [path = "", anchor] = target.split("#");
    const page = path === "" ? file : normalize(join(dirname(file), path)).replaceAll("\\", "/");
    links++;
    const isThere = existsSync(join(root, page));
    if (isThere && (anchor === undefined || !page.endsWith(".md") || hasAnchor(page, anchor))) continue;
    broken++;
    console.error(`${file}: the link to ${target} leads ${isThere ? "to no heading" : "nowhere"}`);
  }
}
const readme = textOf("README.md");
for (const page of files.filter((file) => /^docs\/[^/]+\.md$/.test(file))) {
  if (readme.includes(`](${page})`) || readme.includes(`](${page}#`)) continue;
  broken++;
  console.error(`README.md: does not link to ${page}`);
}
console.log(`${files.length} files, ${links} relative links`);
process.exitCode = broken > 0 ? 1 : 0;
