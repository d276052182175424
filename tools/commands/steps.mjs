import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fail } from "../workspace/fail.mjs";
import { apps, root } from "../workspace/packages.mjs";
import { environment, turbo } from "../workspace/turbo.mjs";

/** The hashes of every emitted step, a line each. */
const FILE = join(root, "tools/steps/hashes.txt");
const CAPTURE = join(root, "tools/steps/capture.mjs");
const WORKLOADS = ["w1", "w2", "w3", "w4"];
const PRECISIONS = ["float32", "mixed_bfloat16", "mixed_float16"];
const ENGINES = ["ort", "tfjs"];

/** @typedef {{ name: string; command: string; args: readonly string[]; folder: string }} Program */

/** @returns {readonly Program[]} */
function programs() {
  const steps = ENGINES.flatMap((engine) =>
    WORKLOADS.flatMap((workload) =>
      PRECISIONS.map((precision) => ({
        name: `${workload} ${precision} ${engine}`,
        command: process.execPath,
        args: ["dist/step.js", workload, precision, engine],
        folder: join(root, "bench"),
      })),
    ),
  );
  const small = apps().flatMap(({ folder, path, manifest }) =>
    Object.keys(manifest.scripts ?? {})
      .filter((script) => script.startsWith("smoke"))
      .map((script) => ({
        name: `${folder} ${script}`,
        command: "pnpm",
        args: ["--silent", "run", script],
        folder: join(root, path),
      })),
  );
  return [...steps, ...small];
}

/**
 * Runs a program and lists the steps that it compiles: `name number engine graph model`.
 * @param {Program} program
 * @returns {readonly string[]}
 */
function captureHashes({ name, command, args, folder }) {
  const own = mkdtempSync(join(tmpdir(), "mp-steps-"));
  const file = join(own, "hashes");
  writeFileSync(file, "");
  try {
    const { status, stderr } = spawnSync(command, args, {
      cwd: folder,
      env: { ...environment, MP_STEP_HASHES: file, NODE_OPTIONS: `--import=${CAPTURE}` },
      stdio: ["ignore", "ignore", "pipe"],
      encoding: "utf8",
    });
    if (status !== 0) fail(`steps: ${name} ended with ${status}\n${stderr}`);
    const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
    return lines.map((line, index) => `${name} ${index + 1}: ${line}`);
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

/**
 * @param {readonly string[]} args `--write`, parts of names
 * @returns {{ write: boolean; parts: readonly string[] }}
 */
function stepsOptions(args) {
  try {
    const options = /** @type {const} */ ({ write: { type: "boolean", default: false } });
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    return { write: values.write, parts: positionals };
  } catch (error) {
    return fail(`steps: ${error instanceof Error ? error.message : String(error)}`, 2);
  }
}

/**
 * Compares the hash of every emitted step with those in tools/steps/hashes.txt: the benchmark's workloads W1 to W4 in
 * three precisions and every app at a small size, on each engine.
 * @param {readonly string[]} args `--write` writes the hashes there; names choose programs
 * @param {() => void} install
 * @returns {number} exit code
 */
export function run(args, install) {
  const { write, parts } = stepsOptions(args);
  install();
  const filter = ["@mp/bench...", ...apps().map(({ name }) => `${name}...`)];
  if (!turbo(["build"], { filter, quiet: true })) return 1;
  const known = readFileSync(FILE, "utf8").split("\n").filter(Boolean);
  const chosen = programs().filter(
    ({ name }) => parts.length === 0 || parts.some((part) => name.includes(part)),
  );
  const isChosen = (/** @type {string} */ line) => chosen.some(({ name }) => line.startsWith(`${name} `));
  const found = chosen.flatMap((program) => {
    const lines = captureHashes(program);
    for (const line of lines) console.log(known.includes(line) ? `same     ${line}` : `changed  ${line}`);
    return lines;
  });
  const kept = known.filter((line) => !isChosen(line));
  if (write) writeFileSync(FILE, `${[...kept, ...found].join("\n")}\n`);
  const missing = known.filter((line) => isChosen(line) && !found.includes(line));
  for (const line of missing) console.log(`was      ${line}`);
  const changed = found.filter((line) => !known.includes(line)).length;
  console.log(`steps: ${found.length - changed} as before, ${changed} changed, ${missing.length} gone`);
  return write || changed + missing.length === 0 ? 0 : 1;
}
