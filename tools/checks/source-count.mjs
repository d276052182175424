/** Counts lines and operator tables of the source, by package: what the house is measured by. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { root } from "../workspace/packages.mjs";
import { repositoryFiles } from "../workspace/repository-files.mjs";

/** An array or object literal with as many names of operators as keys or elements is a table of operators. */
const FEWEST_NAMES = 3;

/**
 * @typedef {object} Count
 * @property {number} source lines
 * @property {number} tests lines
 * @property {number} tables of operators, in source
 * @property {number} rows of those tables
 */

/** @param {string} file */
const parsed = (file) =>
  ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest, true);

/** @returns {ReadonlySet<string>} the names in core's table of families */
export function operatorNames() {
  const names = new Set();
  /** @param {import("typescript").Node} node */
  const visit = (node) => {
    if (ts.isStringLiteral(node) && ts.isArrayLiteralExpression(node.parent)) names.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(parsed("packages/core/src/graph/families.ts"));
  return /** @type {ReadonlySet<string>} */ (names);
}

/**
 * @param {import("typescript").ArrayLiteralExpression | import("typescript").ObjectLiteralExpression} literal
 * @returns {readonly string[]} names that are its keys or elements; those of array literals that it spreads are its own
 */
function namesIn(literal) {
  if (ts.isObjectLiteralExpression(literal))
    return literal.properties.flatMap(({ name }) =>
      name !== undefined && (ts.isIdentifier(name) || ts.isStringLiteral(name)) ? [name.text] : [],
    );
  return literal.elements.flatMap((element) => {
    if (ts.isStringLiteral(element)) return [element.text];
    return ts.isSpreadElement(element) && ts.isArrayLiteralExpression(element.expression)
      ? namesIn(element.expression)
      : [];
  });
}

/**
 * @param {string} file
 * @param {ReadonlySet<string>} operators
 * @returns {readonly { line: number; rows: number }[]}
 */
export function tablesIn(file, operators) {
  const source = parsed(file);
  /** @type {{ line: number; rows: number }[]} */
  const tables = [];
  /** @param {import("typescript").Node} node */
  const visit = (node) => {
    const isLiteral = ts.isArrayLiteralExpression(node) || ts.isObjectLiteralExpression(node);
    if (isLiteral && !ts.isSpreadElement(node.parent)) {
      const rows = namesIn(node).filter((name) => operators.has(name)).length;
      const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      if (rows >= FEWEST_NAMES) tables.push({ line, rows });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return tables;
}

const TEST = /(\.(test|test-d)\.[mt]s$)|(\/test\/)/;
const CODE = /^(packages|apps|bench|tools)\/.*\.(ts|mts|mjs|js)$/;
/** Code that no one here writes. */
const GENERATED = /_pb\.ts$|\/peers\//;

/** Whether a file is code that someone here writes. */
const isCode = (/** @type {string} */ file) => CODE.test(file) && !GENERATED.test(file);

/** @returns {readonly string[]} code that someone here writes, but tests */
export const sourceFiles = () => repositoryFiles().filter((file) => isCode(file) && !TEST.test(file));

/** @returns {readonly string[]} the TypeScript in which operator tables are counted */
export const tabledFiles = () => sourceFiles().filter((file) => file.endsWith(".ts"));

/** @returns {ReadonlyMap<string, Count>} by package, sorted */
export function countSource() {
  const operators = operatorNames();
  /** @type {Map<string, Count>} */
  const counts = new Map();
  for (const file of repositoryFiles().filter(isCode)) {
    const [first = "", second = ""] = file.split("/");
    const name = first === "packages" || first === "apps" ? `${first}/${second}` : first;
    const count = counts.get(name) ?? { source: 0, tests: 0, tables: 0, rows: 0 };
    const lines = readFileSync(join(root, file), "utf8").split("\n").length - 1;
    if (TEST.test(file)) count.tests += lines;
    else {
      const tables = file.endsWith(".ts") ? tablesIn(file, operators) : [];
      count.source += lines;
      count.tables += tables.length;
      count.rows += tables.reduce((sum, { rows }) => sum + rows, 0);
    }
    counts.set(name, count);
  }
  return new Map([...counts].sort(([a], [b]) => a.localeCompare(b)));
}
