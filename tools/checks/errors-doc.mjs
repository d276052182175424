/** Checks that docs/errors.md has one non-empty section per error code, in the order of the code list. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../workspace/packages.mjs";
import { transpile } from "./program.mjs";

const source = readFileSync(join(root, "packages/graph/src/errors.ts"), "utf8");
/** @type {{ ERROR_CODES: readonly string[] }} */
const { ERROR_CODES } = await import(
  `data:text/javascript,${encodeURIComponent(transpile("errors.ts", source))}`
);

const sections = readFileSync(join(root, "docs/errors.md"), "utf8").split(/^## /m).slice(1);
const documented = sections.map((section) => section.split("\n")[0]?.trim() ?? "");
const problems = [
  ...ERROR_CODES.filter((code) => !documented.includes(code)).map((code) => `${code} has no section`),
  ...documented.filter((code) => !ERROR_CODES.includes(code)).map((code) => `${code} is not an error code`),
  ...sections
    .filter((section) => section.split("\n").slice(1).join(" ").trim().split(/\s+/).length < 15)
    .map((section) => `${section.split("\n")[0]} does not say what it means and what to do`),
];
if (problems.length === 0 && documented.join() !== ERROR_CODES.join())
  problems.push("sections are not in the order of ERROR_CODES");

for (const problem of problems) console.error(`docs/errors.md: ${problem}`);
console.log(`${ERROR_CODES.length} codes, ${documented.length} sections`);
process.exitCode = problems.length > 0 ? 1 : 0;
