import ts from "typescript";

/**
 * Lists the names that a module imports, each once. Refuses `*` and default imports, which do not say what names they
 * use.
 * @param {string} code
 * @returns {readonly { readonly name: string; readonly from: string }[]}
 */
export function listImports(code) {
  const names = new Map();
  for (const statement of ts.createSourceFile("module.js", code, ts.ScriptTarget.ES2023).statements) {
    if (!ts.isImportDeclaration(statement) || statement.importClause === undefined) continue;
    const from = /** @type {ts.StringLiteral} */ (statement.moduleSpecifier).text;
    const bindings = statement.importClause.namedBindings;
    if (bindings === undefined || !ts.isNamedImports(bindings)) {
      throw new Error(`${from} is not imported by names`);
    }
    for (const element of bindings.elements) {
      const name = (element.propertyName ?? element.name).text;
      names.set(`${from} ${name}`, { name, from });
    }
  }
  return [...names.values()];
}
