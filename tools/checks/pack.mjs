/**
 * Checks what a user gets: packs every public package, runs the README's commands in an empty folder with tarballs in
 * place of package names, imports and requires each package there, then checks and runs the first program, on other
 * runtimes too, and runs the doctor on the folder.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { publicLibraries } from "../workspace/packages.mjs";
import { packAll } from "../workspace/tarballs.mjs";
import { readBlock } from "./marked-block.mjs";
import { checkProgram } from "./program.mjs";
import { runsEverywhere } from "./runtimes.mjs";
import { installByReadme, run, runByReadme } from "./user-project.mjs";

const packages = publicLibraries();
const work = mkdtempSync(join(tmpdir(), "mp-pack-"));
const project = join(work, "project");
const tarballOf = packAll(work);
console.log(`${packages.length} packages packed`);

// Once packages are published, npm finds dependencies of the named ones itself; tarballs must all be named.
const named = new Set(readBlock("install").match(/@mp\/[\w-]+/g));
const unnamed = packages.filter(({ name }) => !named.has(name)).map(({ name }) => tarballOf.get(name));
const withTarballs = (/** @type {string} */ line) =>
  line.includes("@mp/")
    ? `${line.replace(
        /@mp\/[\w-]+/g,
        (name) => tarballOf.get(name) ?? fail(`README.md: ${name} is not a public package`),
      )} ${unnamed.join(" ")}`
    : line;
if (!installByReadme(project, withTarballs)) {
  fail(`pack: the README's install commands failed, project left in ${project}`);
}

/** @type {{ packages: Record<string, { resolved?: string }> }} */
const lock = JSON.parse(readFileSync(join(project, "package-lock.json"), "utf8"));
const foreign = Object.entries(lock.packages).filter(
  ([path, { resolved }]) => /(^|\/)node_modules\/@mp\/[\w-]+$/.test(path) && !resolved?.startsWith("file:"),
);
for (const [path, { resolved }] of foreign)
  console.error(`${path} came from ${resolved}, not from this checkout`);

const node = (/** @type {readonly string[]} */ ...args) => run(process.execPath, args, { cwd: project });
const names = JSON.stringify(packages.map(({ name }) => name));
const loads = Object.entries({ module: "await import(name)", commonjs: "require(name)" }).map(
  ([kind, statement]) =>
    node(
      `--input-type=${kind}`,
      "-e",
      `for (const name of ${names}) try { ${statement} } catch (error) { process.exitCode = 1; console.error(name, error) }`,
    ),
);

/** Checks types without Node's and with an older target: our declarations bring along what they need. */
function checksWithoutNodeTypes() {
  const compilerOptions = { strict: true, noEmit: true, module: "nodenext", target: "es2022", types: [] };
  writeFileSync(
    join(project, "tsconfig.plain.json"),
    JSON.stringify({ compilerOptions, files: ["program.ts"] }),
  );
  return run("npx", ["tsc", "-p", "tsconfig.plain.json"], { cwd: project });
}

const good =
  foreign.length === 0 &&
  loads.every(Boolean) &&
  runByReadme(project) &&
  checksWithoutNodeTypes() &&
  // Runs before the strict tsconfig.json is written, which the README's user does not have.
  run("npx", ["@mp/doctor", "--limit", "60"], { cwd: project }) &&
  checkProgram(project, readBlock("program")) &&
  runsEverywhere(project, join(work, "runtimes"));
if (good) rmSync(work, { recursive: true, force: true });
else console.error(`pack: failed, project left in ${project}`);
process.exitCode = good ? 0 : 1;
