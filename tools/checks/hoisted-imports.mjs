import ts from "typescript";

/** Import declarations collected from several blocks, each name once. */
export class HoistedImports {
  /** @type {Map<string, Map<string, { text: string; isType: boolean }>>} by quoted module, by local name */
  #named = new Map();
  /** @type {Set<string>} */
  #others = new Set();

  /**
   * Removes the declarations from a block.
   * @param {string} code
   * @returns {string} the rest, with the same number of lines
   */
  take(code) {
    const file = ts.createSourceFile("block.ts", code, ts.ScriptTarget.ES2023);
    let rest = code;
    for (const statement of file.statements) {
      if (!ts.isImportDeclaration(statement)) continue;
      const text = code.slice(statement.getStart(file), statement.end);
      this.#add(statement, text, file);
      rest = rest.replace(text, text.replace(/[^\n]/g, ""));
    }
    return rest;
  }

  /**
   * @param {ts.ImportDeclaration} statement
   * @param {string} text
   * @param {ts.SourceFile} file
   */
  #add({ importClause, moduleSpecifier }, text, file) {
    const bindings = importClause?.namedBindings;
    if (importClause?.name !== undefined || bindings === undefined || !ts.isNamedImports(bindings)) {
      this.#others.add(text);
      return;
    }
    const from = moduleSpecifier.getText(file);
    const names = this.#named.get(from) ?? new Map();
    this.#named.set(from, names);
    for (const { name, propertyName, isTypeOnly } of bindings.elements) {
      const isType = isTypeOnly || importClause?.isTypeOnly === true;
      const known = names.get(name.text);
      if (known !== undefined && !known.isType) continue;
      const own = propertyName === undefined ? name.text : `${propertyName.getText(file)} as ${name.text}`;
      names.set(name.text, { text: own, isType });
    }
  }

  /** All of them on one line. */
  toString() {
    const named = [...this.#named].map(([from, names]) => {
      const list = [...names.values()].map(({ text, isType }) => (isType ? `type ${text}` : text));
      return `import { ${list.join(", ")} } from ${from};`;
    });
    return [...this.#others, ...named].join(" ");
  }
}
