/**
 * The phrases that CONTRIBUTING.md does not want: in Markdown, in comments and messages of sources, also across the parts
 * of a template, and in names.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { root } from "../workspace/packages.mjs";
import { repositoryFiles } from "../workspace/repository-files.mjs";

const GUIDE = "CONTRIBUTING.md";
/** Files left out: decisions keep the words in which they were made; the guide and this file name the phrases. */
const LEFT_OUT = [
  /^tools\/checks\/words\.mjs$/,
  /^docs\/decisions\//,
  new RegExp(`^${GUIDE}$`),
  /CHANGELOG\.md$/,
  /_pb\.ts$/,
  /(^|\/)fixtures\//,
];

/** Words that no name has as a part: `isTold` is `isGiven`. */
const WORDS_OF_NAMES = new Set(["spoil", "spoils", "spoilt", "told", "twin", "twins", "untold"]);
/** Names of types that say nothing of what they hold. */
const TYPE_NAMES = new Set(["Ends", "Made", "Told", "Said"]);
/** The package whose names are still to be changed. */
const NAMES_TO_CHANGE = /^packages\/conformance\//;

/** @returns {readonly RegExp[]} one for each phrase in the first column of the table under "Words" */
function unwantedPhrases() {
  const guide = readFileSync(join(root, GUIDE), "utf8");
  const section = /^## Words\n(.*?)^## /ms.exec(guide)?.[1] ?? "";
  const rows = [...section.matchAll(/^\| ([^|]+) \|/gm)].map(([, first]) => String(first)).slice(2);
  if (rows.length === 0) throw new Error(`${GUIDE}: the section "Words" holds no table`);
  return rows
    .flatMap((row) => row.split(","))
    .map((phrase) => new RegExp(`(?<![\\w-])${escaped(phrase.trim())}(?![\\w-])`, "gi"));
}

const escaped = (/** @type {string} */ text) =>
  text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/ /g, "\\s+(?:\\*\\s+)?");

/** The text with everything blanked that nobody reads as prose: code, in sources; code blocks, in Markdown. */
function prose(/** @type {ts.SourceFile} */ source) {
  const { text } = source;
  const isTest = /\.test(-d)?\.ts$/.test(source.fileName);
  let result = "";
  const walk = (/** @type {ts.Node} */ node) => {
    const children = node.getChildren(source).filter((child) => !ts.isJSDoc(child));
    if (children.length > 0) return children.forEach(walk);
    const token = node.getText(source);
    // Before a token there are white space and comments.
    result += text.slice(node.getFullStart(), node.getStart(source));
    const isText =
      ts.isStringLiteralLike(node) || ts.isTemplateMiddleOrTemplateTail(node) || ts.isTemplateHead(node);
    // A phrase may go on behind a value, so the brackets around the value are blank too.
    result += isText && !isTest ? token.replace(/\$\{$|^\}/, blank) : blank(token);
  };
  walk(source);
  return result;
}

/** @returns {readonly { name: string; index: number }[]} the names that a source declares, each with an unwanted word */
function unwantedNames(/** @type {ts.SourceFile} */ source) {
  /** @type {{ name: string; index: number }[]} */
  const found = [];
  const walk = (/** @type {ts.Node} */ node) => {
    const { name } = /** @type {{ name?: ts.Node }} */ (node);
    if (name !== undefined && ts.isIdentifier(name) && !ts.isPropertyAccessExpression(node)) {
      const isType = ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);
      const words = name.text.split(/(?=[A-Z])|_/).map((word) => word.toLowerCase());
      const isUnwanted =
        words.some((word) => WORDS_OF_NAMES.has(word)) || (isType && TYPE_NAMES.has(name.text));
      if (isUnwanted) found.push({ name: name.text, index: name.getStart(source) });
    }
    ts.forEachChild(node, walk);
  };
  walk(source);
  return found;
}

/** Matches commands for which npx would fetch whatever package has their name, where ours is not installed. */
const FETCHING = /npx mp-\w+/g;

const blank = (/** @type {string} */ code) => code.replace(/[^\n]/g, " ");

const phrases = unwantedPhrases();
const files = repositoryFiles("*.md", "*.ts", "*.mjs").filter(
  (file) => !LEFT_OUT.some((pattern) => pattern.test(file)),
);
let count = 0;
for (const file of files) {
  const whole = readFileSync(join(root, file), "utf8");
  const source = file.endsWith(".md")
    ? undefined
    : ts.createSourceFile(file, whole, ts.ScriptTarget.Latest, true);
  const text = source === undefined ? whole.replace(/^```.*?^```|`[^`\n]*`/gms, blank) : prose(source);
  for (const { 0: found, index } of whole.matchAll(FETCHING)) {
    count++;
    console.error(`${file}:${whole.slice(0, index).split("\n").length}: "${found}", write npx --no`);
  }
  if (source !== undefined && !NAMES_TO_CHANGE.test(file)) {
    for (const { name, index } of unwantedNames(source)) {
      count++;
      console.error(
        `${file}:${whole.slice(0, index).split("\n").length}: the name ${name}, say what it holds`,
      );
    }
  }
  for (const phrase of phrases) {
    for (const { 0: found, index } of text.matchAll(phrase)) {
      count++;
      console.error(`${file}:${text.slice(0, index).split("\n").length}: "${found}", see Words in ${GUIDE}`);
    }
  }
}
console.log(`${files.length} files, ${phrases.length} phrases, ${count} found`);
process.exitCode = count > 0 ? 1 : 0;
