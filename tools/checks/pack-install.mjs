/**
 * Checks what a user gets: packs every public package, installs the tarballs into an empty project with the README's
 * own command and plain npm, imports and requires each package there, then type checks and runs the README's program.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { publicLibraries } from "../workspace/packages.mjs";
import { packAll } from "../workspace/tarballs.mjs";
import { checkProgram } from "./program.mjs";
import { readmeBlock } from "./readme-block.mjs";

const program = readmeBlock("program");
const installCommand = readmeBlock("install").trim();
const packages = publicLibraries();

/** Environment variables of npm and turbo about this workspace must not reach the user's project. */
const userEnvironment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(npm_(package|lifecycle|config_local_prefix|command)|INIT_CWD|TURBO_)/.test(name),
  ),
);

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import("node:child_process").SpawnSyncOptions} options
 */
function run(command, args, options) {
  const { status, error } = spawnSync(command, args, { stdio: ["ignore", "inherit", "inherit"], ...options });
  if (error) console.error(`${command}: ${error.message}`);
  return status === 0;
}

const work = mkdtempSync(join(tmpdir(), "mp-pack-"));
const project = join(work, "project");
const tarballs = join(work, "tarballs");
mkdirSync(project);
mkdirSync(tarballs);

const tarballOf = packAll(tarballs);

// Once packages are published, npm finds dependencies of the named ones itself; tarballs must all be named.
const named = new Set(installCommand.match(/@mp\/[\w-]+/g));
const unnamed = packages.filter(({ name }) => !named.has(name)).map(({ name }) => tarballOf.get(name));
const substituted = installCommand.replace(
  /@mp\/[\w-]+/g,
  (name) => tarballOf.get(name) ?? fail(`README.md: ${name} is not a public package`),
);
writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }\n');
console.log(`${packages.length} packages packed; README: ${installCommand}`);
if (!run("sh", ["-c", `${substituted} ${unnamed.join(" ")}`], { cwd: project, env: userEnvironment })) {
  fail(`pack: the README's install command failed, project left in ${project}`);
}

/** @type {{ packages: Record<string, { resolved?: string }> }} */
const lock = JSON.parse(readFileSync(join(project, "package-lock.json"), "utf8"));
const foreign = Object.entries(lock.packages).filter(
  ([path, { resolved }]) => /(^|\/)node_modules\/@mp\/[\w-]+$/.test(path) && !resolved?.startsWith("file:"),
);
for (const [path, { resolved }] of foreign)
  console.error(`${path} came from ${resolved}, not from this checkout`);

const loads = packages.map(({ name }) => {
  const imported = run(process.execPath, ["--input-type=module", "-e", `await import("${name}")`], {
    cwd: project,
  });
  const required = run(process.execPath, ["--input-type=commonjs", "-e", `require("${name}")`], {
    cwd: project,
  });
  if (!imported || !required)
    console.error(`${name}: ${imported ? "require" : "import"} failed in the user's project`);
  return imported && required;
});

const good = foreign.length === 0 && loads.every(Boolean) && checkProgram(project, program);
if (good) rmSync(work, { recursive: true, force: true });
else console.error(`pack: failed, project left in ${project}`);
process.exitCode = good ? 0 : 1;
