/** The names that each entry of a public package exports, types included. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { publicLibraries, root } from "../workspace/packages.mjs";

/**
 * @param {string} file from the root
 * @returns {readonly string[]}
 */
function exportedNames(file) {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement)) {
      const clause = statement.exportClause;
      if (clause === undefined) throw new Error(`${file}: "export *" hides what is exported`);
      return ts.isNamespaceExport(clause) ? [clause.name.text] : clause.elements.map(({ name }) => name.text);
    }
    const isExported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (!isExported) return [];
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map(({ name }) => name.getText(source));
    const { name } = /** @type {import("typescript").DeclarationStatement} */ (statement);
    return name === undefined ? [] : [name.getText(source)];
  });
}

/** @returns {ReadonlyMap<string, number>} the number of names by entry, such as `@mp/core/backend` */
export function countNames() {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { name, path, manifest } of publicLibraries()) {
    const config = readFileSync(join(root, path, "tsup.config.ts"), "utf8");
    for (const [entry, target] of /** @type {[string, { default?: string }][]} */ (
      Object.entries(manifest.exports ?? {})
    )) {
      const built = /^\.\/dist\/(.+)\.js$/.exec(target.default ?? "")?.[1];
      if (built === undefined) continue;
      const source = new RegExp(`[\\s{"]${built}"?: "(src/[^"]+)"`).exec(config)?.[1];
      if (source === undefined) throw new Error(`${path}/tsup.config.ts has no entry "${built}"`);
      counts.set(`${name}${entry.slice(1)}`, exportedNames(`${path}/${source}`).length);
    }
  }
  return counts;
}
