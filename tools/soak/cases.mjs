/**
 * Runs conformance cases on an engine, in a process of its own. argv: the engine; "left-out" for a random share of the
 * cases that the suite leaves out, or "all" for every case; the share; the seed of the draw and of the data.
 */
import { openBackend } from "../gpu/engine.mjs";

/** @param {string} entry */
const load = (entry) => import(new URL(`../../packages/conformance/dist/${entry}.js`, import.meta.url).href);
const { allCases, failuresOf, inSuite, runConformance } = await load("index");
const { trainingCases } = await load("training");

const [engine = "reference", which, share = "1", seed = "1"] = process.argv.slice(2);
const [name = "", device = "cpu"] = engine.split(" on ");
/** @type {readonly { readonly id: string }[]} */
const all = [...allCases, ...trainingCases];
const suite = new Set(inSuite(all));
/** Park and Miller's generator. */
let state = (Number(seed) % 2147483646) + 1;
const next = () => {
  state = (state * 48271) % 2147483647;
  return state / 2147483647;
};
const cases = which === "all" ? all : all.filter((one) => !suite.has(one) && next() < Number(share));

const report = await runConformance({
  factory: () => openBackend(name, device),
  cases,
  seed: Number(seed),
  // Machines without a GPU run shaders on their processor, and the largest graphs take OpenVINO minutes to compile.
  timeoutMs: 600_000,
});
for (const failure of failuresOf(report)) console.log(failure);
const { passed, refused, failed } = report.counts;
const { user, system } = process.cpuUsage();
console.log(
  `${cases.length} cases on ${engine}: ${passed} passed, ${refused} refused, ${failed} failed, ${((user + system) / 1e6).toFixed(0)} s of processor time`,
);
process.exitCode = report.ok ? 0 : 1;
