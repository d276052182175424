import { writeBudget } from "../checks/budget.mjs";
import { nameForms } from "../checks/name-forms.mjs";
import { countSource, operatorNames, tabledFiles, tablesIn } from "../checks/source-count.mjs";

/**
 * Prints lines of source and tests and operator tables by package; with `--tables`, where each table is; with `--names
 * [folder]`, functions named by participles and getters in `Of`. With `--write` today's counts and a twentieth become the
 * limits of the check `size`.
 */
export function runCount(/** @type {readonly string[]} */ args) {
  if (args[0] === "--names") {
    const { functions, participles, getters } = nameForms(args[1]);
    for (const line of [...participles, ...getters]) console.log(line);
    console.log(
      `${functions} functions: ${participles.length} named by participles, ${getters.length} in Of`,
    );
    return;
  }
  const counts = countSource();
  const total = { source: 0, tests: 0, tables: 0, rows: 0 };
  console.log("package                      source    tests   tables     rows");
  const line = (/** @type {string} */ name, /** @type {typeof total} */ { source, tests, tables, rows }) =>
    console.log(
      `${name.padEnd(26)}${[source, tests, tables, rows].map((value) => String(value).padStart(9)).join("")}`,
    );
  for (const [name, count] of counts) {
    line(name, count);
    for (const key of /** @type {const} */ (["source", "tests", "tables", "rows"])) total[key] += count[key];
  }
  line("all", total);
  if (args.includes("--write")) writeBudget();
  if (!args.includes("--tables")) return;
  const operators = operatorNames();
  for (const file of tabledFiles())
    for (const { line: at, rows } of tablesIn(file, operators)) console.log(`${file}:${at} ${rows}`);
}
