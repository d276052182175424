/** The phrases that CONTRIBUTING.md does not want: in Markdown, and in comments and strings of sources. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { root } from "../workspace/packages.mjs";

const GUIDE = "CONTRIBUTING.md";
/** Files left out: decisions keep the words in which they were made; the guide names the phrases. */
const LEFT_OUT = [
  /^docs\/decisions\//,
  new RegExp(`^${GUIDE}$`),
  /CHANGELOG\.md$/,
  /_pb\.ts$/,
  /(^|\/)fixtures\//,
];

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
function prose(/** @type {string} */ file, /** @type {string} */ text) {
  if (file.endsWith(".md")) return text.replace(/^```.*?^```|`[^`\n]*`/gms, blank);
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const isTest = /\.test(-d)?\.ts$/.test(file);
  let result = "";
  const walk = (/** @type {ts.Node} */ node) => {
    const children = node.getChildren(source).filter((child) => !ts.isJSDoc(child));
    if (children.length > 0) return children.forEach(walk);
    const token = node.getText(source);
    // Before a token there are white space and comments.
    result += text.slice(node.getFullStart(), node.getStart(source));
    const isText =
      ts.isStringLiteralLike(node) || ts.isTemplateMiddleOrTemplateTail(node) || ts.isTemplateHead(node);
    result += isText && !isTest ? token : blank(token);
  };
  walk(source);
  return result;
}

/** Matches commands for which npx would fetch whatever package has their name, where ours is not installed. */
const FETCHING = /npx mp-\w+/g;

const blank = (/** @type {string} */ code) => code.replace(/[^\n]/g, " ");

const phrases = unwantedPhrases();
const files = execFileSync("git", ["ls-files", "*.md", "*.ts", "*.mjs"], { cwd: root, encoding: "utf8" })
  .split("\n")
  .filter((file) => file !== "" && !LEFT_OUT.some((pattern) => pattern.test(file)));
let count = 0;
for (const file of files) {
  const whole = readFileSync(join(root, file), "utf8");
  const text = prose(file, whole);
  for (const { 0: found, index } of whole.matchAll(FETCHING)) {
    count++;
    console.error(`${file}:${whole.slice(0, index).split("\n").length}: "${found}", write npx --no`);
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
