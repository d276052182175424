/** Finds the phrases and names of words.json in Markdown and in sources, comments and messages included. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../workspace/packages.mjs";
import { repositoryFiles } from "../workspace/repository-files.mjs";

/** @type {Readonly<{ phrases: Record<string, string>, names: string[], types: string[], exempt: string[], exemptNames: string[] }>} */
const { phrases, names, types, exempt, exemptNames } = JSON.parse(
  readFileSync(join(root, "tools/checks/words.json"), "utf8"),
);
const LEFT_OUT = new RegExp(exempt.join("|"));
const NAMES_LEFT_OUT = new RegExp(exemptNames.join("|"));

/** The pattern of a phrase, in which a space also matches a line end in a comment. @param {string} phrase */
const pattern = (phrase) => phrase.replace(/ /g, "\\s+(?:\\*\\s+|//\\s+)?");

/** @param {readonly string[]} list */
const matchAny = (list) => new RegExp(`(?<![\\w-])(?:${list.map(pattern).join("|")})(?![\\w-])`, "gi");
const ALL = matchAny(Object.keys(phrases));
/** Matches phrases of several words only: a single word may be a name. */
const SEVERAL_WORDS = matchAny(Object.keys(phrases).filter((phrase) => phrase.includes(" ")));
const DECLARED = /\b(?:const|let|function|class|interface|type|readonly|static|get)\s+(\w+)/g;
/** Commands for which npx would fetch a stranger's package of that name where ours is not installed. */
const FETCHING = /npx mp-\w+/g;

const files = repositoryFiles("*.md", "*.ts", "*.mjs").filter((file) => !LEFT_OUT.test(file));
let found = 0;
for (const file of files) {
  const text = readFileSync(join(root, file), "utf8");
  const isMarkdown = file.endsWith(".md");
  /** @param {number} index @param {string} problem */
  const report = (index, problem) => {
    found++;
    console.error(`${file}:${text.slice(0, index).split("\n").length}: ${problem}`);
  };
  const prose = isMarkdown
    ? text.replace(/^```.*?^```|`[^`\n]*`/gms, (code) => code.replace(/[^\n]/g, " "))
    : text;
  const hasFreeNames = NAMES_LEFT_OUT.test(file);
  for (const { 0: phrase, index } of prose.matchAll(hasFreeNames ? SEVERAL_WORDS : ALL)) {
    const plain = phrase.replace(/\s+(\*|\/\/)?\s*/g, " ");
    const [, better] =
      Object.entries(phrases).find(([key]) => key.toLowerCase() === plain.toLowerCase()) ?? [];
    report(index, `"${plain}"; write: ${better}`);
  }
  for (const { 0: command, index } of text.matchAll(FETCHING)) report(index, `"${command}"; write npx --no`);
  if (isMarkdown || hasFreeNames) continue;
  for (const { 1: name = "", index } of text.matchAll(DECLARED)) {
    const words = name.split(/(?=[A-Z])|_/).map((word) => word.toLowerCase());
    if (types.includes(name) || words.some((word) => names.includes(word)))
      report(index, `the name ${name}; say what it holds`);
  }
}
console.log(`${files.length} files, ${Object.keys(phrases).length} phrases, ${found} found`);
process.exitCode = found > 0 ? 1 : 0;
