// Writes the result as one page of tables that needs no network, in the style of the precision report.
import { style } from "./page-style.mjs";

/** @typedef {Record<string, any>} Answer */

const OURS = "mp";
const FLOAT32 = "float32";

/** @param {unknown} value */
const escapeHtml = (value) =>
  String(value).replace(
    /[&<>"']/g,
    (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[character] ?? "",
  );

/** @param {unknown} value @param {number} decimals */
const formatNumber = (value, decimals) =>
  typeof value === "number" && Number.isFinite(value) ? value.toFixed(decimals) : "";

/**
 * The result as a page.
 * @param {{ date: string; device: string; small: boolean; ok: boolean; machine: unknown; jobs: Record<string, unknown>; left: readonly string[] }} result
 */
export function renderPage(result) {
  const jobs = Object.entries(result.jobs).map(([id, answer]) => ({
    id,
    answer: /** @type {Answer} */ (answer),
  }));
  const benches = jobs.filter(({ answer }) => answer?.["medianMilliseconds"] !== undefined);
  const sections = [
    section("Training steps", [steps(benches)]),
    section("Time by operator", benches.filter(({ answer }) => answer["operators"]).map(operators)),
    section("Largest batch that fits", [largest(benches)]),
    section("Conformance", jobs.filter(({ id }) => /^conformance|conformance$/.test(id)).map(suite)),
    section("Trained models", [apps(jobs)]),
    section("What failed", jobs.filter(({ answer }) => hasFailed(answer)).map(failure)),
    section("No time was left for", result.left.length === 0 ? [] : [list(result.left)]),
  ];
  const title = `Training steps on ${result.device}`;
  const small = result.small
    ? "<p><b>A run with --small: it shows that everything runs, and its times mean nothing.</b></p>"
    : "";
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><style>${style}</style></head><body><main>
<h1>${escapeHtml(title)}</h1>
<p class="note">${escapeHtml(result.date)}, ${result.ok ? "everything ran" : "something failed"}</p>
${small}${facts({ .../** @type {object} */ (result.machine), ...halves(jobs) })}
${sections.join("\n")}
<footer>Written by tools/gpu from the JSON file beside this page, which has every timed step.</footer>
</main></body></html>
`;
}

/** @param {string} title @param {readonly string[]} parts */
const section = (title, parts) =>
  parts.join("") === "" ? "" : `<section><h2>${escapeHtml(title)}</h2>${parts.join("")}</section>`;

/** How each engine computes in f16 and bf16. @param {readonly { id: string; answer: Answer }[]} jobs */
function halves(jobs) {
  const found = jobs.flatMap(({ answer }) => {
    const { engine, dtypes } = answer?.["manifest"] ?? {};
    if (engine === undefined) return [];
    return ["f16", "bf16"].map((dtype) => [
      `${dtype} on ${engine.name} ${engine.version}`,
      dtypes[dtype].compute ?? "unsupported",
    ]);
  });
  return Object.fromEntries(found);
}

/** @param {unknown} machine */
function facts(machine) {
  const rows = Object.entries(/** @type {object} */ (machine)).filter(([, value]) => value !== null);
  const cells = rows.map(
    ([name, value]) => `<div><dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd></div>`,
  );
  return `<dl class="facts">${cells.join("")}</dl>`;
}

/** @param {readonly string[]} items */
const list = (items) => `<ul>${items.map((item) => `<li>${escapeHtml(item)}</li>`).join("")}</ul>`;

/** @param {readonly string[]} header @param {readonly (readonly string[])[]} rows the first cell is a name */
function table(header, rows) {
  if (rows.length === 0) return "";
  const cells = (/** @type {readonly string[]} */ row, /** @type {string} */ tag) =>
    row
      .map((cell, index) => `<${tag}${index === 0 ? "" : ' class="number"'}>${escapeHtml(cell)}</${tag}>`)
      .join("");
  const body = rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("");
  return `<div class="table" tabindex="0"><table><thead><tr>${cells(header, "th")}</tr></thead><tbody>${body}</tbody></table></div>`;
}

/** TFLOP/s of the matrix products in the whole step's time. @param {Answer} answer @param {string} side */
function rate(answer, side) {
  const milliseconds = answer["medianMilliseconds"][side];
  return milliseconds === undefined ? undefined : answer["matrixGigaflops"] / milliseconds;
}

/** @param {readonly { id: string; answer: Answer }[]} benches */
function steps(benches) {
  const sides = [...new Set(benches.flatMap(({ answer }) => Object.keys(answer["medianMilliseconds"])))];
  const peers = sides.filter((side) => side !== OURS);
  const rows = benches.map(({ id, answer }) => {
    const single = benches.find((other) => other.id === withFloat32(id, answer["precision"]))?.answer;
    const times = answer["medianMilliseconds"];
    const gain = single === undefined ? undefined : single["medianMilliseconds"][OURS] / times[OURS];
    return [
      id,
      ...sides.map((side) => formatNumber(times[side], 2)),
      formatNumber(rate(answer, OURS), 2),
      formatNumber(gain, 2),
      ...peers.map((peer) => formatNumber(times[OURS] / times[peer], 3)),
    ];
  });
  const ratios = peers.map((peer) => `ours / ${peer}`);
  return table(["", ...sides.map((side) => `${side} ms`), "TFLOP/s", "times float32", ...ratios], rows);
}

/** @param {string} id @param {string} precision */
const withFloat32 = (id, precision) => id.slice(0, -precision.length) + FLOAT32;

/** @param {{ id: string; answer: Answer }} bench */
function operators({ id, answer: { operators: gain } }) {
  if (gain.unsupported !== undefined)
    return `<p>${escapeHtml(id)}: none, ${escapeHtml(gain.unsupported)}</p>`;
  const { float32Milliseconds, milliseconds } = gain;
  const all = { op: "all", float32Milliseconds, milliseconds };
  const rows = [...gain.rows, all].map((/** @type {Answer} */ row) => [
    row["op"],
    formatNumber(row["float32Milliseconds"], 3),
    formatNumber(row["milliseconds"], 3),
    row["share"] === undefined ? "" : `${formatNumber(row["share"] * 100, 2)} %`,
    formatNumber(row["speedUp"], 2),
    formatNumber(row["float32Teraflops"], 2),
    formatNumber(row["teraflops"], 2),
  ]);
  const header = ["operator", "float32 ms", "ms", "share", "times", "float32 TFLOP/s", "TFLOP/s"];
  return `<h3>${escapeHtml(id)}</h3>${table(header, rows)}`;
}

/** @param {readonly { id: string; answer: Answer }[]} benches */
function largest(benches) {
  const rows = benches.flatMap(({ id, answer }) =>
    Object.entries(answer["largestBatch"] ?? {}).map(([side, batch]) => [id, side, String(batch)]),
  );
  return table(["", "side", "batch"], rows);
}

/** @param {{ id: string; answer: Answer }} job */
function suite({ id, answer }) {
  if (answer["counts"] === undefined) return "";
  const counts = Object.entries(answer["counts"]).map(([status, count]) => `${status} ${count}`);
  const failures = [...(answer["failures"] ?? []), ...(answer["cut"] ?? [])];
  return `<h3>${escapeHtml(id)}</h3><p>${escapeHtml(counts.join(", "))}</p>${failures.length === 0 ? "" : list(failures)}`;
}

/** @param {readonly { id: string; answer: Answer }[]} jobs */
function apps(jobs) {
  const rows = jobs
    .filter(({ id, answer }) => id.startsWith("app/") && answer?.["metric"] !== undefined)
    .map(({ id, answer }) => [id, `${answer["metric"].name} ${formatNumber(answer["metric"].value, 3)}`]);
  return table(["", "held out"], rows);
}

/** @param {unknown} answer @returns {boolean} */
function hasFailed(answer) {
  return typeof answer === "object" && answer !== null && "failed" in answer;
}

/** @param {{ id: string; answer: Answer }} job */
function failure({ id, answer }) {
  return `<h3>${escapeHtml(id)}</h3><p>${escapeHtml(answer["failed"])}</p><pre>${escapeHtml(answer["errors"] ?? "")}</pre>`;
}
