// A process of its own: the whole suite on the device, its report as the last line.
import { openedBackend } from "./engine.mjs";

const { allCases, runConformance, failuresOf } = await import(
  new URL("../../packages/conformance/dist/index.js", import.meta.url).href
);

const [engine = "ort", device = "cpu", share = "1"] = process.argv.slice(2);
const cases = allCases.filter(
  (/** @type {unknown} */ _, /** @type {number} */ index) => index % Number(share) === 0,
);
const began = performance.now();
const report = await runConformance({
  factory: () => openedBackend(engine, device),
  cases,
  // If a case ends the process, the last line tells which came before it.
  onOutcome: (/** @type {{ id: string; status: string }} */ { id, status }) =>
    console.log(`case ${status} ${id}`),
});
const seconds = (performance.now() - began) / 1000;
console.log(JSON.stringify({ ok: report.ok, seconds, counts: report.counts, failures: failuresOf(report) }));
