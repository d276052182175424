import { nameForms } from "../checks/name-forms.mjs";
import { countLines, lowerBudget, totalLines } from "../checks/source-count.mjs";

/**
 * Prints the lines of source and tests by package; `--write` lowers the budget to the sum of source lines. With
 * `--names [folder]` it prints functions named by participles and getters that end in `Of` instead.
 */
export function run(/** @type {readonly string[]} */ args) {
  if (args[0] === "--names") {
    const { functions, participles, getters } = nameForms(args[1]);
    for (const line of [...participles, ...getters]) console.log(line);
    console.log(
      `${functions} functions: ${participles.length} named by participles, ${getters.length} in Of`,
    );
    return;
  }
  const counts = countLines();
  console.log("package                      source    tests");
  for (const [name, { source, tests }] of [...counts, /** @type {const} */ (["all", totalLines(counts)])])
    console.log(`${name.padEnd(26)}${String(source).padStart(9)}${String(tests).padStart(9)}`);
  if (args.includes("--write")) lowerBudget();
}
