// Started by run.sh on the machine. Every job runs in a process of its own, so that a crash loses only that job, and
// the result is rewritten after each job.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { describeMachine, torchVersion } from "./machine.mjs";
import { DEVICES, makePlan, PARTS, planText } from "./plan.mjs";
import { lastJson, runProcess } from "./process.mjs";
import { readResult, replaceFile } from "./result-file.mjs";
import { processCount, splitArguments, suiteReport } from "./suite.mjs";

/** @typedef {import("./plan.mjs").Job} Job */

/**
 * @typedef {object} Result
 * @property {string} date
 * @property {string} device
 * @property {boolean} small
 * @property {boolean} ok
 * @property {unknown} machine
 * @property {Record<string, unknown>} jobs by id
 * @property {readonly string[]} left ids of jobs for which no time was left
 */

const root = fileURLToPath(new URL("../..", import.meta.url));
/** A job that hangs is ended after this time; the rest continues. */
const LIMIT_SECONDS = 1800;

function options() {
  const { values } = parseArgs({
    options: {
      device: { type: "string", default: "cuda" },
      out: { type: "string", default: "gpu-result.json" },
      python: { type: "string" },
      small: { type: "boolean", default: false },
      only: { type: "string" },
      rounds: { type: "string", default: "3" },
      minutes: { type: "string" },
      resume: { type: "boolean", default: false },
      plan: { type: "boolean", default: false },
    },
  });
  const only = values.only?.split(",");
  const unknown = only?.find((name) => !PARTS.includes(name));
  if (unknown !== undefined) refuse(`--only ${unknown}: expected ${PARTS.join(", ")}`);
  if (!DEVICES.includes(values.device)) refuse(`--device ${values.device}: expected ${DEVICES.join(", ")}`);
  const minutes = values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes);
  if (!(minutes > 0)) refuse(`--minutes ${values.minutes}: expected a number above 0`);
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) refuse(`--rounds ${values.rounds}: expected an integer ≥ 1`);
  return { ...values, only, minutes, rounds, out: resolve(values.out) };
}

/** @param {string} message @returns {never} */
function refuse(message) {
  console.error(`run.sh: ${message}`);
  process.exit(2);
}

/**
 * @template T
 * @param {string} flag
 * @param {() => T} work
 */
function orRefuse(flag, work) {
  try {
    return work();
  } catch (error) {
    return refuse(`${flag}: ${error instanceof Error ? error.message : error}`);
  }
}

/** @type {{ readonly [K in Job["answer"]]: (job: Job, limitSeconds: number) => Promise<unknown> }} */
const ANSWERS = {
  line: async (job, limit) => {
    const ended = await nodeProcess(job.program, job.args, limit);
    // A process whose libraries may hang as it exits kills itself after its answer.
    const isEnded = ended.code === 0 || ended.signal === "SIGKILL";
    return (isEnded ? lastJson(ended.output) : undefined) ?? failure(ended);
  },
  suite: async (job, limit) => {
    const parts = splitArguments(job.args, processCount(given.device, cpus().length));
    return suiteReport(await Promise.all(parts.map((args) => nodeProcess(job.program, args, limit))));
  },
  app: (job, limit) =>
    withFolder(async (folder) => {
      const json = join(folder, "result.json");
      const ended = await nodeProcess(job.program, [...job.args, "--json", json], limit);
      return ended.code === 0 ? JSON.parse(readFileSync(json, "utf8")) : failure(ended);
    }),
  bench: runBench,
};

/**
 * Runs a benchmark, and if it fails, again with one peer less, because a peer may have failed.
 * @param {Job} job @param {number} limit in seconds
 */
async function runBench(job, limit) {
  const ends = performance.now() + limit * 1000;
  const { peers = [] } = job;
  /** @type {unknown} */
  let besides;
  for (let count = peers.length; count >= 0; count--) {
    const beside = peers.slice(0, count).join(",");
    const flags =
      count === 0 || given.python === undefined ? [] : ["--against", beside, "--python", given.python];
    const seconds = Math.max(1, (ends - performance.now()) / 1000);
    const answer = await comparison([...job.args, ...flags], seconds);
    if (isGood(answer)) return besides === undefined ? answer : { ...answer, besides };
    if (count === 0) return answer;
    besides = answer;
  }
}

/**
 * @param {readonly string[]} flags of the benchmark
 * @param {number} limit
 * @returns {Promise<Record<string, unknown>>}
 */
function comparison(flags, limit) {
  return withFolder(async (folder) => {
    const ended = await nodeProcess("bench/dist/main.js", [...flags, "--results", folder], limit);
    const [file] = readdirSync(folder);
    if (ended.code !== 0 || file === undefined) return failure(ended);
    return JSON.parse(readFileSync(join(folder, file), "utf8")).workloads[0];
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

/** @param {string} program @param {readonly string[]} args @param {number} limitSeconds */
function nodeProcess(program, args, limitSeconds) {
  return runProcess(process.execPath, [join(root, program), ...args], { limitSeconds });
}

/** @param {import("./process.mjs").Ended} ended */
function failure({ code, signal, errors }) {
  return { failed: signal === null ? `exit code ${code}` : signal, errors };
}

/** True if all parts of a job's answer succeeded. @param {unknown} value @returns {boolean} */
function isGood(value) {
  if (typeof value !== "object" || value === null) return true;
  if ("failed" in value && typeof value.failed === "string") return false;
  if ("ok" in value && value.ok === false) return false;
  return Object.entries(value).every(([key, inner]) => key === "besides" || isGood(inner));
}

/** @param {string} device @param {boolean} small @param {boolean} hasTorch */
function jobsFor(device, small, hasTorch) {
  // `xla()` would open the plugin of MP_XLA_PLUGIN for any device.
  const hasXla = device !== "webgpu" && (process.env["MP_XLA_PLUGIN"] !== undefined || given.plan);
  const plan = makePlan({ device, small, rounds: given.rounds, hasTorch, hasXla });
  return plan.filter(({ part }) => given.only === undefined || given.only.includes(part));
}

/** @returns {Record<string, unknown>} */
function readFinished() {
  if (!given.resume || !existsSync(given.out)) return {};
  const before = orRefuse("--resume", () => readResult(given.out));
  if (before.device !== given.device || before.small !== given.small)
    refuse(`--resume: ${given.out} is of --device ${before.device}${before.small ? " --small" : ""}`);
  return Object.fromEntries(Object.entries(before.jobs).filter(([, answer]) => isGood(answer)));
}

const given = options();
const torch = await torchVersion(given.python, given.device);
const plan = jobsFor(given.device, given.small, torch !== undefined || given.plan);
if (given.plan) {
  console.log(`${plan.length} jobs on ${given.device}:\n${planText(plan)}`);
  process.exit(0);
}
const began = performance.now();
/** @type {Result} */
const result = {
  date: new Date().toISOString(),
  device: given.device,
  small: given.small,
  ok: true,
  machine: await describeMachine(given.python, torch),
  jobs: readFinished(),
  left: [],
};
/** @type {string[]} */
const left = [];
// Checks, before hours of work, that the result can be written.
orRefuse("--out", write);
for (const job of plan) {
  if (Object.hasOwn(result.jobs, job.id)) continue;
  const started = performance.now();
  const remaining = given.minutes * 60 - (started - began) / 1000;
  if (remaining <= 0) left.push(job.id);
  else {
    const answer = await ANSWERS[job.answer](job, Math.min(LIMIT_SECONDS, remaining));
    const seconds = (performance.now() - started) / 1000;
    // A job that the time limit ended has not failed; the finished cases of a suite are results all the same.
    const isCut = !isGood(answer) && seconds >= remaining;
    if (isCut) left.push(job.id);
    if (!isCut || job.answer === "suite") {
      result.jobs[job.id] = answer;
      console.log(`${isGood(answer) ? "ok    " : "FAILED"} ${job.id} ${seconds.toFixed(0)} s`);
    }
  }
  write();
}
write();
if (left.length > 0)
  console.log(`no time was left for ${left.length} jobs; the same command with --resume runs them`);
if (given.device === "cpu") {
  const onGpu = jobsFor("cuda", false, true);
  console.log(`\nOn a GPU (--device cuda) it would run these ${onGpu.length} jobs:\n${planText(onGpu)}\n`);
}
console.log(`written to ${given.out}`);
process.exitCode = result.ok ? 0 : 1;

function write() {
  result.left = left;
  result.ok = isGood(result.jobs);
  replaceFile(given.out, `${JSON.stringify(result, null, 1)}\n`);
}
