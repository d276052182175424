/** Every function, class and value that a public package exports has a docstring, and so has every option. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { publicLibraries, root } from "../workspace/packages.mjs";

/** @type {Map<string, ts.SourceFile>} */
const parsed = new Map();
function sourceAt(/** @type {string} */ file) {
  const known = parsed.get(file);
  if (known !== undefined) return known;
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  parsed.set(file, source);
  return source;
}

const isDocumented = (/** @type {ts.Node} */ node) =>
  (ts.getLeadingCommentRanges(node.getSourceFile().text, node.getFullStart()) ?? []).some(({ pos }) =>
    node.getSourceFile().text.startsWith("/**", pos),
  );

/** @returns {readonly { file: string; name: string }[]} what the entry exports, each where it is declared */
function exportsOf(/** @type {string} */ entry) {
  return sourceAt(entry).statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement) || statement.moduleSpecifier === undefined) return [];
    const { exportClause: clause, moduleSpecifier: from } = statement;
    if (clause === undefined || !ts.isNamedExports(clause) || !ts.isStringLiteral(from)) return [];
    if (!from.text.startsWith(".")) return [];
    const file = join(dirname(entry), from.text.replace(/\.js$/, ".ts"));
    return clause.elements.map(({ name, propertyName }) => ({ file, name: (propertyName ?? name).text }));
  });
}

/** @returns {readonly string[]} what lacks a docstring of one exported name */
function undocumented(/** @type {{ file: string; name: string }} */ { file, name }) {
  const passedOn = exportsOf(file).find((exported) => exported.name === name);
  if (passedOn !== undefined) return undocumented(passedOn);
  const declarations = sourceAt(file).statements.filter(
    (statement) =>
      ((ts.isFunctionDeclaration(statement) ||
        ts.isClassDeclaration(statement) ||
        ts.isInterfaceDeclaration(statement)) &&
        statement.name?.text === name) ||
      (ts.isVariableStatement(statement) &&
        statement.declarationList.declarations.some((declaration) => declaration.name.getText() === name)),
  );
  const options = declarations
    .filter(ts.isInterfaceDeclaration)
    .filter(() => name.endsWith("Options"))
    .flatMap(({ members }) => members.filter((member) => member.questionToken && !isDocumented(member)))
    .map((member) => `${name}.${member.name?.getText()}`);
  const isType = declarations.every(ts.isInterfaceDeclaration);
  return isType || declarations.some(isDocumented) ? options : [name, ...options];
}

let problems = 0;
const entries = publicLibraries().flatMap(({ path }) => {
  const folder = join(root, path, "src", "entries");
  const more = existsSync(folder) ? readdirSync(folder).map((file) => join(folder, file)) : [];
  return [join(root, path, "src/index.ts"), ...more];
});
const names = new Map(
  entries.flatMap(exportsOf).map((exported) => [`${exported.file} ${exported.name}`, exported]),
);
for (const exported of names.values()) {
  for (const name of undocumented(exported)) {
    console.log(`${relative(root, exported.file)}: ${name} has no docstring`);
    problems++;
  }
}
console.log(`${names.size} exported names, ${problems} without a docstring`);
if (problems > 0) process.exitCode = 1;
