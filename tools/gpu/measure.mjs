// Started by run.sh on the machine: every part runs in separate processes, so that a crash loses nothing else, and the
// JSON result is rewritten after each part.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { arch, cpus, release, tmpdir, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { lastJson, ranProcess } from "./process.mjs";

/**
 * @typedef {object} Options
 * @property {string} device
 * @property {string} out
 * @property {string | undefined} python
 * @property {boolean} small
 * @property {readonly string[] | undefined} only
 */

/** @typedef {(options: Options, torch: string | undefined) => Promise<unknown>} Part */

const PRECISIONS = ["float32", "mixed_float16", "mixed_bfloat16"];
const root = fileURLToPath(new URL("../..", import.meta.url));
/** A step that hangs is ended after this time; the rest continues. */
const LIMIT_SECONDS = 1800;
/** With --small, one in this many of the suite's cases runs. */
const SMALL_SHARE = 20;

/** @returns {Options} */
function options() {
  const { values } = parseArgs({
    options: {
      device: { type: "string", default: "cuda" },
      out: { type: "string", default: "gpu-result.json" },
      python: { type: "string" },
      small: { type: "boolean", default: false },
      only: { type: "string" },
    },
  });
  const only = values.only?.split(",");
  const unknown = only?.find((name) => !Object.hasOwn(PARTS, name));
  if (unknown !== undefined) {
    console.error(`run.sh: --only ${unknown}: expected ${Object.keys(PARTS).join(", ")}`);
    process.exit(2);
  }
  return { ...values, only, out: resolve(values.out), python: values.python };
}

/** @param {string} command @param {readonly string[]} args */
async function line(command, args) {
  const { code, output } = await ranProcess(command, args, { limitSeconds: 120 });
  return code === 0 ? output.trim() : undefined;
}

/** The version of PyTorch that can be run on the device. @param {Options} options */
async function torchOf({ python, device }) {
  if (python === undefined) return undefined;
  const wanted = device === "cuda" ? "torch.cuda.is_available()" : "True";
  const program = `import torch, sys; print(torch.__version__) if ${wanted} else sys.exit(1)`;
  return line(python, ["-c", program]);
}

/** @type {Part} */
async function machine({ python }, torch) {
  const query = ["--query-gpu=name,driver_version,memory.total,compute_cap", "--format=csv,noheader"];
  const [processor] = cpus();
  return {
    processor: processor?.model,
    cores: cpus().length,
    memoryBytes: totalmem(),
    system: `${process.platform} ${arch()} ${release()}`,
    node: process.version,
    gpu: (await line("nvidia-smi", query)) ?? null,
    cuda: (await line("sh", ["-c", "nvidia-smi | grep -o 'CUDA Version: [0-9.]*'"])) ?? null,
    python: python === undefined ? null : ((await line(python, ["--version"])) ?? null),
    torch: torch ?? null,
  };
}

/** @type {Part} */
async function probe({ device }) {
  return answerOf(await nodeProcess("tools/gpu/probe.mjs", [device]));
}

/** @type {Part} */
async function conformance({ device, small }) {
  const share = small ? [String(SMALL_SHARE)] : [];
  const ended = await nodeProcess("tools/gpu/conformance.mjs", [device, ...share]);
  const report = lastJson(ended.output);
  if (ended.code === 0 && report !== undefined) return report;
  // It crashed during the suite: the cases that ended are known, and so is the last one before the crash.
  const cases = ended.output.split("\n").filter((text) => text.startsWith("case "));
  return { ...failure(ended), ended: cases.length, last: cases.at(-1) ?? null };
}

/** @type {Part} */
async function workloads(options, torch) {
  return eachPrecision(["w1", "w2", "w3", "w4"], (name, precision) =>
    benched(name, precision, options, torch),
  );
}

/** @type {Part} */
async function wordLm(options, torch) {
  return eachPrecision(["w2-1536", "word-lm"], (name, precision) =>
    name === "word-lm" ? trained(precision, options) : benched(name, precision, options, torch),
  );
}

/** @type {Readonly<Record<string, Part>>} */
const PARTS = { machine, probe, conformance, workloads, "word-lm": wordLm };

/**
 * @param {readonly string[]} names
 * @param {(name: string, precision: string) => Promise<unknown>} measured
 */
async function eachPrecision(names, measured) {
  /** @type {Record<string, Record<string, unknown>>} */
  const results = {};
  for (const name of names) {
    results[name] = {};
    for (const precision of PRECISIONS) results[name][precision] = await measured(name, precision);
  }
  return results;
}

/**
 * @param {string} workload
 * @param {string} precision
 * @param {Options} options
 * @param {string | undefined} torch
 */
async function benched(workload, precision, { device, small, python }, torch) {
  const size = small
    ? ["--rounds", "1", "--warmup", "1", "--steps", "3", "--seconds", "5", "--idle-seconds", "0"]
    : ["--idle-seconds", "30"];
  const flags = [workload, "--precision", precision, "--device", device, ...size];
  // PyTorch's CPU has no float16 to be compared with.
  const isBeside = torch !== undefined && (device === "cuda" || precision !== "mixed_float16");
  if (!isBeside || python === undefined) return comparison(flags);
  const both = await comparison([...flags, "--against", "torch", "--python", python]);
  if (isGood(both)) return both;
  // PyTorch may be the one that failed, as its bfloat16 LSTM does on a CPU without bfloat16 units.
  return { ...(await comparison(flags)), besideTorch: both["errors"] };
}

/**
 * @param {readonly string[]} flags of the benchmark
 * @returns {Promise<Record<string, unknown>>}
 */
function comparison(flags) {
  return withFolder(async (folder) => {
    const ended = await nodeProcess("bench/dist/main.js", [...flags, "--results", folder]);
    const [file] = readdirSync(folder);
    if (ended.code !== 0 || file === undefined) return failure(ended);
    return JSON.parse(readFileSync(join(folder, file), "utf8")).workloads[0];
  });
}

/** @param {string} precision @param {Options} options */
async function trained(precision, { device, small }) {
  const size = small ? ["--cells", "64", "--steps", "10"] : ["--cells", "1536", "--steps", "300"];
  return withFolder(async (folder) => {
    const json = join(folder, "result.json");
    const flags = ["--device", device, "--precision", precision, "--json", json, ...size];
    const ended = await nodeProcess("apps/word-lm/dist/main.js", flags);
    return ended.code === 0 ? JSON.parse(readFileSync(json, "utf8")) : failure(ended);
  });
}

/**
 * @template T
 * @param {(folder: string) => Promise<T>} body
 */
async function withFolder(body) {
  const folder = mkdtempSync(join(tmpdir(), "mp-measure-"));
  try {
    return await body(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} program @param {readonly string[]} args */
function nodeProcess(program, args) {
  return ranProcess(process.execPath, [join(root, program), ...args], { limitSeconds: LIMIT_SECONDS });
}

/** @param {import("./process.mjs").Ended} ended */
function answerOf(ended) {
  return (ended.code === 0 ? lastJson(ended.output) : undefined) ?? failure(ended);
}

/** @param {import("./process.mjs").Ended} ended */
function failure({ code, signal, errors }) {
  return { failed: signal === null ? `exit code ${code}` : signal, errors };
}

/** Whether nothing in it failed. @param {unknown} value @returns {boolean} */
function isGood(value) {
  if (typeof value !== "object" || value === null) return true;
  if ("failed" in value && typeof value.failed === "string") return false;
  if ("ok" in value && value.ok === false) return false;
  return Object.values(value).every(isGood);
}

const given = options();
const torch = await torchOf(given);
/** @type {Record<string, unknown>} */
const result = { date: new Date().toISOString(), device: given.device, small: given.small };
let isWhole = true;
for (const [name, part] of Object.entries(PARTS)) {
  if (given.only !== undefined && !given.only.includes(name)) continue;
  const began = performance.now();
  result[name] = await part(given, torch);
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  const isPartGood = isGood(result[name]);
  isWhole &&= isPartGood;
  result["ok"] = isWhole;
  writeFileSync(given.out, `${JSON.stringify(result, null, 1)}\n`);
  console.log(`${isPartGood ? "ok    " : "FAILED"} ${name} ${seconds} s`);
}
console.log(`written to ${given.out}`);
process.exitCode = isWhole ? 0 : 1;
