/** How many names each entry of core exports, types included. The public face is small on purpose. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { root } from "../workspace/packages.mjs";

const SOURCES = join(root, "packages/core/src");
/** @type {readonly { entry: string; file: string; limit: number }[]} */
const ENTRIES = [
  // A hundred, and `predictor` with its type: what a server imports, and nothing else of training.
  { entry: "@mp/core", file: "index.ts", limit: 103 },
  { entry: "@mp/core/backend", file: "entries/backend.ts", limit: 20 },
  { entry: "@mp/core/internal", file: "entries/internal.ts", limit: 19 },
];

/** @returns {readonly string[]} the exported names; every one is written out, so that the file reads as a list */
function exportedNames(/** @type {string} */ file) {
  const source = ts.createSourceFile(file, readFileSync(join(SOURCES, file), "utf8"), ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement)) throw new Error(`${file}: holds exports alone`);
    const clause = statement.exportClause;
    if (clause === undefined) throw new Error(`${file}: "export *" hides what is exported`);
    return ts.isNamespaceExport(clause) ? [clause.name.text] : clause.elements.map(({ name }) => name.text);
  });
}

for (const { entry, file, limit } of ENTRIES) {
  const count = exportedNames(file).length;
  console.log(`${entry}: ${count} names, at most ${limit}`);
  if (count > limit) process.exitCode = 1;
}
