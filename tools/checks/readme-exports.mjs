/** The last section of a package's README: what each entry exports, with its signature and the first sentence of its docstring. */
import { readFileSync } from "node:fs";

/** @typedef {{ kind: string; name: string; docComment?: string; excerptTokens?: readonly { text: string }[]; members?: readonly Item[] }} Item a declaration in API Extractor's model */
/** @typedef {{ imported: string; model: string; report: string }} Entry an entry's name, and the files of its model and report */

const START = "\n## Exports\n\n<!-- exports -->\n";
const END = "<!-- /exports -->\n";

/** @param {string} readme @returns {string} the text before the section of exports; all of it, if there is none */
export const withoutExports = (readme) => readme.split(START)[0] ?? "";

/** A longer signature is cut to its name. The reference and an editor show all of it. */
const LONGEST = 160;
const SENTENCE = /^.+?[.:](?=\s+[A-Z`({[]|$)/s;

/** @param {string} docstring @returns {string} its first sentence as one line of Markdown */
function firstSentence(docstring) {
  const text = docstring
    .trim()
    .replace(/^\/\*\*|\*\/$/g, "")
    .replace(/^ *\* ?/gm, "")
    .replace(/\{@link ([^}|]+?)(?:\|[^}]*)?\}/g, "`$1`")
    .split(/\n\s*(?:\n|@|- |\|)/)[0];
  const line = (text ?? "").replace(/\s+/g, " ").trim();
  return (SENTENCE.exec(line)?.[0] ?? line).replace(/:$/, ".");
}

/** @param {Item} item @returns {string} */
function signature({ kind, name, excerptTokens = [] }) {
  const whole = excerptTokens
    .map(({ text }) => text)
    .join("")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/^(export )?(declare )?(function |const )?/, "")
    .replace(/;$/, "");
  if (kind === "TypeAlias") return `type ${name}`;
  if (kind === "Interface") return `interface ${name}`;
  return whole.length <= LONGEST ? whole : name;
}

/** @param {Entry} entry @returns {string} */
function listEntry({ imported, model, report }) {
  /** @type {readonly Item[]} */
  const items = JSON.parse(readFileSync(model, "utf8")).members[0].members;
  const rows = items.map((item) => {
    const line = firstSentence(item.docComment ?? "");
    return `- \`${signature(item)}\`${line === "" ? "" : `: ${line}`}`;
  });
  const isType = (/** @type {string} */ row) => /^- `(interface|type) /.test(row);
  const values = rows.filter((row) => !isType(row));
  const lines = [...values, ...rows.filter(isType)];
  const text = readFileSync(report, "utf8");
  const passedOn = [...text.matchAll(/^export \{ (\w+) \}/gm)].map(([, name]) => `\`${name}\``);
  const whole = [...text.matchAll(/^export \* from "([^"]+)"/gm)].map(([, name]) => `\`${name}\``);
  if (whole.length > 0) lines.push(`- all of ${whole.join(" and ")}`);
  if (passedOn.length > 0) lines.push(`- from other packages: ${passedOn.join(", ")}`);
  return `### ${imported}\n\n${lines.join("\n")}\n`;
}

/**
 * @param {string} readme the text of a package's README
 * @param {readonly Entry[]} entries
 * @returns {string} the README with its section of exports as they are now
 */
export function withExports(readme, entries) {
  return `${withoutExports(readme)}${START}${entries.map(listEntry).join("\n")}${END}`;
}
