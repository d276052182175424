import { countLines, lowerBudget, totalLines } from "../checks/source-count.mjs";

/** Prints the lines of source and tests by package; `--write` lowers the budget to the sum of source lines. */
export function run(/** @type {readonly string[]} */ args) {
  const counts = countLines();
  console.log("package                      source    tests");
  for (const [name, { source, tests }] of [...counts, /** @type {const} */ (["all", totalLines(counts)])])
    console.log(`${name.padEnd(26)}${String(source).padStart(9)}${String(tests).padStart(9)}`);
  if (args.includes("--write")) lowerBudget();
}
