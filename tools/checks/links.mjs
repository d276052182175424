/** Checks that relative links of Markdown files have targets, and that the README links to every page of docs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findBrokenLinks } from "../site/links.mjs";
import { root } from "../workspace/packages.mjs";
import { repositoryFiles } from "../workspace/repository-files.mjs";

const files = repositoryFiles("*.md").filter((file) => !file.endsWith(".api.md"));
const { count, problems } = findBrokenLinks(root, files);
const readme = readFileSync(join(root, "README.md"), "utf8");
const unlinked = files.filter(
  (file) => /^docs\/[^/]+\.md$/.test(file) && !new RegExp(`\\]\\(${file}[)#]`).test(readme),
);
for (const problem of [...problems, ...unlinked.map((page) => `README.md: does not link to ${page}`)])
  console.error(problem);
console.log(`${files.length} files, ${count} relative links`);
process.exitCode = problems.length + unlinked.length > 0 ? 1 : 0;
