/**
 * The budget of the house: lines of source and rows of operator tables by package, names by entry, none above its limit in
 * budget.json. A limit is raised by a line in docs/decisions/budget.md alone.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../workspace/packages.mjs";
import { countNames } from "./entries.mjs";
import { countSource } from "./source-count.mjs";

const LIMITS = join(root, "tools/checks/budget.json");
const CONTRIBUTING = join(root, "CONTRIBUTING.md");
/** The share of each count that is left for changes that need no decision. */
const SHARE_LEFT = 0.05;
/** Core's entries whose limits CONTRIBUTING.md repeats, as it writes them. */
const STATED = {
  "@mp/core": /(`@mp\/core` exports at most )(\d+)( names)/,
  "@mp/core/backend": /(`@mp\/core\/backend` )(\d+)( \()/,
};

/** @typedef {Record<"source" | "rows" | "names", Record<string, number>>} Budget by package, by package and by entry */

const WORDS = { source: "lines of source", rows: "rows of operator tables", names: "exported names" };
const KINDS = /** @type {(keyof Budget)[]} */ (Object.keys(WORDS));

/** @param {readonly (readonly [string, number])[]} counts */
const above0 = (counts) => Object.fromEntries(counts.filter(([, count]) => count > 0));

/** @returns {Budget} */
function counted() {
  const packages = [...countSource()];
  return {
    source: above0(packages.map(([name, { source }]) => [name, source])),
    rows: above0(packages.map(([name, { rows }]) => [name, rows])),
    names: above0([...countNames()]),
  };
}

/** @returns {Budget} */
const limits = () => JSON.parse(readFileSync(LIMITS, "utf8"));

/**
 * @param {Budget} counts
 * @param {Budget} allowed
 * @returns {readonly string[]} what is above its limit or has none, and limits of what is gone
 */
function problemsOf(counts, allowed) {
  return KINDS.flatMap((kind) => [
    ...Object.entries(counts[kind]).flatMap(([name, count]) => {
      const limit = allowed[kind][name];
      if (limit === undefined) return [`${name}: ${count} ${WORDS[kind]} have no limit in budget.json`];
      if (count <= limit) return [];
      return [`${name}: ${count} ${WORDS[kind]}, at most ${limit}; see docs/decisions/budget.md`];
    }),
    ...Object.keys(allowed[kind])
      .filter((name) => counts[kind][name] === undefined)
      .map((name) => `${name} has no ${WORDS[kind]}: take its limit out of budget.json`),
  ]);
}

/** @param {Budget} allowed @returns {readonly string[]} */
function statedOtherwise({ names }) {
  const text = readFileSync(CONTRIBUTING, "utf8");
  return Object.entries(STATED).flatMap(([entry, pattern]) => {
    const stated = Number(pattern.exec(text)?.[2]);
    if (stated === names[entry]) return [];
    return [`CONTRIBUTING.md says at most ${stated} names of ${entry}, budget.json ${names[entry]}`];
  });
}

/** @returns {boolean} whether everything is within its limit */
export function checkBudget() {
  const [counts, allowed] = [counted(), limits()];
  for (const kind of KINDS) {
    const sum = (/** @type {Budget} */ budget) => Object.values(budget[kind]).reduce((a, b) => a + b, 0);
    console.log(`${WORDS[kind]}: ${sum(counts)}, at most ${sum(allowed)}`);
  }
  const problems = [...problemsOf(counts, allowed), ...statedOtherwise(allowed)];
  for (const problem of problems) console.error(problem);
  return problems.length === 0;
}

/** Makes each limit today's count and a twentieth, and writes those that CONTRIBUTING.md repeats there too. */
export function writeBudget() {
  const counts = counted();
  for (const kind of KINDS)
    for (const [name, count] of Object.entries(counts[kind]))
      counts[kind][name] = Math.floor(count * (1 + SHARE_LEFT));
  writeFileSync(LIMITS, `${JSON.stringify(counts, null, 2)}\n`);
  let text = readFileSync(CONTRIBUTING, "utf8");
  for (const [entry, pattern] of Object.entries(STATED))
    text = text.replace(pattern, `$1${counts.names[entry]}$3`);
  writeFileSync(CONTRIBUTING, text);
}
