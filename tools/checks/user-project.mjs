/**
 * Follows the README as a user would, in a folder that begins empty: the commands of its Install section, its program
 * in TypeScript with the commands beside it, and the same text as an ES module and as CommonJS.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readBlock } from "./marked-block.mjs";

const LIMIT_MS = 300_000;

/** Environment variables of npm and turbo about this workspace must not reach the user's project. */
export const userEnvironment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(npm_(package|lifecycle|config_local_prefix|command)|INIT_CWD|TURBO_)/.test(name),
  ),
);

/**
 * Runs a command as a user would.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string }} options
 * @returns {boolean} whether it succeeded
 */
export function run(command, args, { cwd }) {
  const { status, error } = spawnSync(command, args, {
    cwd,
    env: userEnvironment,
    stdio: ["ignore", "inherit", "inherit"],
    timeout: LIMIT_MS,
  });
  if (error) console.error(`${command}: ${error.message}`);
  return status === 0;
}

/** @param {string} folder @param {string} command as the README has it */
function type(folder, command) {
  console.log(`$ ${command}`);
  return run("sh", ["-c", command], { cwd: folder });
}

/**
 * Runs the commands of the README's Install section.
 * @param {string} folder made here
 * @param {(line: string) => string} change replaces a command, such as to take the packages from elsewhere
 */
export function installByReadme(folder, change) {
  mkdirSync(folder, { recursive: true });
  const lines = readBlock("install").trim().split("\n");
  return lines.every((line) => type(folder, change(line)));
}

/**
 * Runs the commands that the README has beside its program, then the program as JavaScript.
 * @param {string} folder in which the packages are installed
 */
export function runByReadme(folder) {
  const program = readBlock("program");
  writeFileSync(join(folder, "program.ts"), program);
  writeFileSync(join(folder, "program.js"), program);
  writeFileSync(join(folder, "program.cjs"), asCommonJs(program));
  const lines = readBlock("typescript").trim().split("\n");
  return [...lines, "node program.js", "node program.cjs"].every((line) => type(folder, line));
}

/**
 * The program as CommonJS, as the README describes it.
 * @param {string} program
 */
function asCommonJs(program) {
  const isImport = (/** @type {string} */ line) => line.startsWith("import ");
  const lines = program.split("\n");
  const imports = lines
    .filter(isImport)
    .map((line) => line.replace(/^import (\{.*\}) from (".*");$/, "const $1 = require($2);"));
  return [...imports, "(async () => {", ...lines.filter((line) => !isImport(line)), "})();", ""].join("\n");
}
