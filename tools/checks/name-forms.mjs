/**
 * Finds functions whose name is a participle (`painted`, `madeRun`) or a getter that ends in `Of` (`placeOf`). A name
 * must begin with a verb, or be the noun that the function returns.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { root } from "../workspace/packages.mjs";
import { sourceFiles } from "./source-count.mjs";

/** Words that end in `ed` and are not participles. */
const NO_PARTICIPLE =
  /^(bed|bleed|breed|embed|exceed|feed|heed|need|proceed|red|seed|shed|shred|speed|succeed|weed)$/;
const IRREGULAR = new Set(
  `begun bent born bound broken brought built caught chosen cut done drawn driven fallen felt found given gone grown heard
  held hidden hit kept known laid left lent lost made meant met paid put run seen sent set shown shut sold spent split spread
  spun stood stolen struck stuck swept swung taken taught thought thrown told torn understood won worn woven written`
    .split(/\s+/)
    .filter((word) => !["cut", "hit", "put", "run", "set", "shut", "split", "spread"].includes(word)),
);

/** @param {string} name */
function isParticiple(name) {
  const first = /^_?([a-z]+)/.exec(name)?.[1] ?? "";
  return IRREGULAR.has(first) || (/ed$/.test(first) && !NO_PARTICIPLE.test(first));
}

/** @param {string} name */
const endsInOf = (name) => /[a-z0-9]Of$/.test(name);

/** @param {import("typescript").Node} node @returns {string | undefined} the name of a function that is declared here */
function functionName(node) {
  const named =
    ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isGetAccessorDeclaration(node);
  if (named) return node.name?.getText();
  const holds = ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node);
  if (!holds || node.initializer === undefined) return undefined;
  const isFunction = ts.isArrowFunction(node.initializer) || ts.isFunctionExpression(node.initializer);
  return isFunction ? node.name.getText() : undefined;
}

/**
 * @typedef {object} NameForms
 * @property {number} functions
 * @property {readonly string[]} participles as `file:line name`
 * @property {readonly string[]} getters that end in `Of`, as `file:line name`
 */

/** @param {string} [folder] only files below it @returns {NameForms} of all source but tests */
export function nameForms(folder = "") {
  let functions = 0;
  /** @type {string[]} */
  const participles = [];
  /** @type {string[]} */
  const getters = [];
  for (const file of sourceFiles().filter((file) => file.startsWith(folder))) {
    const text = readFileSync(join(root, file), "utf8");
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    /** @param {import("typescript").Node} node */
    const visit = (node) => {
      const name = functionName(node);
      if (name !== undefined) {
        functions += 1;
        const line = `${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${name}`;
        if (isParticiple(name)) participles.push(line);
        else if (endsInOf(name)) getters.push(line);
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return { functions, participles, getters };
}
