// Runs every `share`-th case of the suite on the device, from `offset` on, so that several processes can share the
// suite. Prints a line for each case as soon as it ends, a failure with its message; the last line says how long it
// took. So if the process ends early, the results of earlier cases are known.
import { writeSync } from "node:fs";
import { openBackend } from "./engine.mjs";

/** @param {string} entry */
const load = (entry) => import(new URL(`../../packages/conformance/dist/${entry}.js`, import.meta.url).href);
const { allCases, runConformance } = await load("index");
const { trainingCases } = await load("training");

const [engine = "ort", device = "cpu", share = "1", offset = "0"] = process.argv.slice(2);
const cases = [...allCases, ...trainingCases].filter(
  (/** @type {unknown} */ _, /** @type {number} */ index) => index % Number(share) === Number(offset),
);
const said = (/** @type {string} */ text) => writeSync(1, `${text}\n`);
const began = performance.now();
await runConformance({
  factory: () => openBackend(engine, device),
  cases,
  onOutcome: (/** @type {{ id: string; status: string; detail: string }} */ { id, status, detail }) =>
    said(`case ${status} ${id}${status === "failed" ? ` ${JSON.stringify(detail)}` : ""}`),
});
said(JSON.stringify({ seconds: (performance.now() - began) / 1000 }));
// CUDA's libraries may hang when a process exits, and ignore SIGTERM.
process.kill(process.pid, "SIGKILL");
