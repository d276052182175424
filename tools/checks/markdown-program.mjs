/**
 * The TypeScript of a Markdown file as one program, in which line N is line N of the file.
 *
 * Blocks are fenced with ```ts; a comment that begins with `<!-- ts` holds code that a block needs and a reader does
 * not. Code before the first `##` is visible everywhere; each `##` section is a separate scope, but a numbered one,
 * `## 2. Train`, continues the section before it. Imports may be repeated, and `export` has no effect. A block of
 * ```ts check is type checked and not run: it needs a test runner. One of ```ts page.ts is a file that a test writes.
 */
import { HoistedImports } from "./hoisted-imports.mjs";

/**
 * @typedef {object} MarkdownProgram
 * @property {readonly string[]} checked programs for the compiler: one per section, each with the code that is visible
 *   everywhere
 * @property {string} run one program of all blocks, except those that are only type checked
 * @property {number} blocks
 * @property {readonly string[]} problems each beginning with its line
 */

/** @typedef {{ first: number; code: string[]; isRun: boolean; section: number }} Block */

const CLOSING = new Map([
  ["```ts", "```"],
  ["```ts check", "```"],
  ["<!-- ts", "-->"],
  ["<!-- ts check", "-->"],
]);

/**
 * @param {string} markdown
 * @returns {MarkdownProgram}
 */
export function extractProgram(markdown) {
  const { lines, blocks, sections, problems } = read(markdown);
  /** @param {(block: Block) => boolean} isPart */
  const program = (isPart) => {
    const imports = new HoistedImports();
    const code = [...lines];
    for (const block of blocks.filter(isPart)) {
      const rest = imports.take(block.code.join("\n")).split("\n");
      for (const [index, line] of rest.entries()) code[block.first + index] = line.replace(/^export /, "");
    }
    return `${imports}${code.join("\n")}${sections > 0 ? "\n}" : ""}\nexport {};\n`;
  };
  // A section that needs the imports or names of another would not work for a reader who copies it.
  const own = [...new Set(blocks.map(({ section }) => section))].filter((section) => section > 0);
  return {
    checked: (own.length > 0 ? own : [0]).map((part) =>
      program(({ section }) => section === 0 || section === part),
    ),
    run: program(({ isRun }) => isRun),
    blocks: blocks.length,
    problems,
  };
}

/** @param {string} markdown */
function read(markdown) {
  /** @type {string[]} */
  const problems = [];
  /** @type {Block[]} */
  const blocks = [];
  /** @type {string | undefined} what ends the block that a line is in */
  let closing;
  let isForeign = false;
  let sections = 0;
  /** @type {string[]} */
  const lines = markdown.split("\n").map((line, index) => {
    if (closing !== undefined) {
      if (line === closing) closing = undefined;
      else blocks.at(-1)?.code.push(line);
    } else if (!isForeign && CLOSING.has(line)) {
      closing = CLOSING.get(line);
      blocks.push({ first: index + 1, code: [], isRun: !line.endsWith("check"), section: sections });
    } else if (/^\s*```/.test(line)) {
      if (/^\s*```\s*(ts|typescript)\b(?! \S+\.ts$)/.test(line))
        problems.push(`${index + 1}: a TypeScript block begins with \`\`\`ts alone, at its line's start`);
      isForeign = !isForeign;
    } else if (!isForeign && /^## (?!\d)/.test(line)) {
      sections++;
      return sections > 1 ? "} {" : "{";
    }
    return "";
  });
  if (closing !== undefined) problems.push(`${blocks.at(-1)?.first}: the block does not end`);
  return { lines, blocks, sections, problems };
}
