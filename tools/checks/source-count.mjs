/** Counts the lines of source and of tests, and compares the source with the budget. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../workspace/packages.mjs";
import { repositoryFiles } from "../workspace/repository-files.mjs";

const BUDGET = "docs/decisions/budget.md";
/** Matches the budget in the file that states it, with the words around it. */
const STATED = /(at most \*\*)([\d ]+)(\*\* lines)/;

const TEST = /(\.(test|test-d)\.[mt]s$)|(\/test\/)/;
const CODE = /^(packages|apps|bench|tools)\/.*\.(ts|mts|mjs|js)$/;
/** Code that is not written here: generated files and programs of peers. */
const GENERATED = /_pb\.ts$|\/peers\//;

/** Whether a file is code that someone here writes. */
const isCode = (/** @type {string} */ file) => CODE.test(file) && !GENERATED.test(file);

/** @typedef {{ source: number; tests: number }} Lines */

/** @returns {ReadonlyMap<string, Lines>} lines by package, sorted */
export function countLines() {
  /** @type {Map<string, Lines>} */
  const counts = new Map();
  for (const file of repositoryFiles().filter(isCode)) {
    const [first = "", second = ""] = file.split("/");
    const name = first === "packages" || first === "apps" ? `${first}/${second}` : first;
    const count = counts.get(name) ?? { source: 0, tests: 0 };
    count[TEST.test(file) ? "tests" : "source"] +=
      readFileSync(join(root, file), "utf8").split("\n").length - 1;
    counts.set(name, count);
  }
  return new Map([...counts].sort(([a], [b]) => a.localeCompare(b)));
}

/** @param {ReadonlyMap<string, Lines>} counts @returns {Lines} */
export function totalLines(counts) {
  const total = { source: 0, tests: 0 };
  for (const { source, tests } of counts.values()) {
    total.source += source;
    total.tests += tests;
  }
  return total;
}

function readBudget() {
  const text = readFileSync(join(root, BUDGET), "utf8");
  const [, , number] = STATED.exec(text) ?? [];
  if (number === undefined) throw new Error(`${BUDGET}: states no number of lines`);
  return { text, limit: Number(number.replaceAll(" ", "")) };
}

/** @returns {boolean} whether the source is within its budget */
export function checkBudget() {
  const { limit } = readBudget();
  const { source } = totalLines(countLines());
  const report = `lines of source: ${source}, at most ${limit}`;
  if (source > limit) console.error(`${report}; see ${BUDGET}`);
  else console.log(report);
  return source <= limit;
}

/** Lowers the budget to the count; an issue's allowance is written by hand. */
export function lowerBudget() {
  const { text, limit } = readBudget();
  const { source } = totalLines(countLines());
  if (source >= limit) return;
  const spaced = String(source).replace(/\B(?=(\d{3})+$)/g, " ");
  writeFileSync(join(root, BUDGET), text.replace(STATED, `$1${spaced}$3`));
}
