import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { root } from "../workspace/packages.mjs";

const LIMIT_MS = 600_000;

/**
 * Strict options of a careful user: every flag that makes types stricter, and no skipLibCheck, so that the packages'
 * own declarations are checked too.
 */
export const compilerOptions = {
  target: "ES2023",
  lib: ["ES2023"],
  module: "NodeNext",
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noPropertyAccessFromIndexSignature: true,
  noEmit: true,
  types: ["node"],
  typeRoots: [join(root, "node_modules", "@types")],
};

const tsconfigRaw = { compilerOptions: { verbatimModuleSyntax: true } };

/**
 * @param {string} sourcefile that stack traces name
 * @param {string} source TypeScript, whose types are not checked
 * @returns {string} JavaScript, with its source map inside
 */
export const transpile = (sourcefile, source) =>
  transformSync(source, { sourcefile, loader: "ts", target: "node20", sourcemap: "inline", tsconfigRaw })
    .code;

/**
 * Type checks the program in a folder that is an ES module package and has its dependencies, then runs it there.
 * @param {string} folder
 * @param {string} source TypeScript
 * @returns {boolean} whether it has no type error, exits with 0 and prints something
 */
export function checkProgram(folder, source) {
  writeFileSync(join(folder, "program.ts"), source);
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  return (
    spawnSync(process.execPath, [tsc, "-p", folder], { stdio: "inherit" }).status === 0 &&
    runProgram(folder, source)
  );
}

/**
 * Runs the program in a folder as for `checkProgram`.
 * @param {string} folder
 * @param {string} source TypeScript, whose types are not checked
 * @returns {boolean} whether it exits with 0 and prints something
 */
export function runProgram(folder, source) {
  writeFileSync(join(folder, "program.js"), transpile(join(folder, "program.ts"), source));
  const { status, stdout } = spawnSync(process.execPath, ["program.js"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
    timeout: LIMIT_MS,
  });
  process.stdout.write(stdout);
  if (status === null) console.error(`the program did not end within ${LIMIT_MS / 1000} s`);
  if (stdout.trim() === "") console.error("the program printed nothing");
  return status === 0 && stdout.trim() !== "";
}
