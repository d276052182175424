// The result as one page that needs no network: tables and bars, in the style of the precision report.
import { style } from "./page-style.mjs";

/** @typedef {Record<string, any>} Answer */

const OURS = "mp";
const FLOAT32 = "float32";

/** @param {unknown} value */
const escaped = (value) =>
  String(value).replace(
    /[&<>"']/g,
    (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[character] ?? "",
  );

/** @param {unknown} value @param {number} decimals */
const fixed = (value, decimals) =>
  typeof value === "number" && Number.isFinite(value) ? value.toFixed(decimals) : "";

/**
 * The result as a page.
 * @param {{ date: string; device: string; small: boolean; ok: boolean; machine: unknown; jobs: Record<string, unknown>; left: readonly string[] }} result
 */
export function pageOf(result) {
  const jobs = Object.entries(result.jobs).map(([id, answer]) => ({
    id,
    answer: /** @type {Answer} */ (answer),
  }));
  const benches = jobs.filter(({ answer }) => answer?.["medianMilliseconds"] !== undefined);
  const sections = [
    section("Training steps", steps(benches)),
    section("What was reached", result.small ? "" : reached(benches)),
    section(
      "Time by operator",
      benches
        .filter(({ answer }) => answer["operators"])
        .map(operators)
        .join(""),
    ),
    section("Largest batch that fits", largest(benches)),
    section(
      "Conformance",
      jobs
        .filter(({ id }) => id.endsWith("conformance") || id.startsWith("conformance"))
        .map(suite)
        .join(""),
    ),
    section("Trained models", apps(jobs)),
    section(
      "What failed",
      jobs
        .filter(({ answer }) => hasFailed(answer))
        .map(failed)
        .join(""),
    ),
    section("No time was left for", result.left.length === 0 ? "" : list(result.left)),
  ];
  const title = `Training steps on ${result.device}`;
  const small = result.small
    ? "<p><b>A run with --small: it shows that everything runs, and its times mean nothing.</b></p>"
    : "";
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title><style>${style}</style></head><body><main>
<h1>${escaped(title)}</h1>
<p class="note">${escaped(result.date)}, ${result.ok ? "everything ran" : "something failed"}</p>
${small}${facts({ .../** @type {object} */ (result.machine), ...halves(jobs) })}
${sections.join("\n")}
<footer>Written by tools/gpu from the JSON file beside this page, which has every timed step.</footer>
</main></body></html>
`;
}

/** @param {string} title @param {string} body */
const section = (title, body) => (body === "" ? "" : `<section><h2>${escaped(title)}</h2>${body}</section>`);

/** How each engine computes in the halves, so that emulated ones are not taken for native. @param {readonly { id: string; answer: Answer }[]} jobs */
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
  const cells = rows.map(([name, value]) => `<div><dt>${escaped(name)}</dt><dd>${escaped(value)}</dd></div>`);
  return `<dl class="facts">${cells.join("")}</dl>`;
}

/** @param {readonly string[]} items */
const list = (items) => `<ul>${items.map((item) => `<li>${escaped(item)}</li>`).join("")}</ul>`;

/** @param {readonly string[]} header @param {readonly (readonly string[])[]} rows the first cell is a name */
function table(header, rows) {
  if (rows.length === 0) return "";
  const cells = (/** @type {readonly string[]} */ row, /** @type {string} */ tag) =>
    row
      .map((cell, index) => `<${tag}${index === 0 ? "" : ' class="number"'}>${escaped(cell)}</${tag}>`)
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
      ...sides.map((side) => fixed(times[side], 2)),
      fixed(rate(answer, OURS), 2),
      fixed(gain, 2),
      ...peers.map((peer) => fixed(times[OURS] / times[peer], 3)),
    ];
  });
  const header = [
    "",
    ...sides.map((side) => `${side} ms`),
    "TFLOP/s",
    "times float32",
    ...peers.map((peer) => `ours / ${peer}`),
  ];
  return table(header, rows) + bars(benches);
}

/** @param {string} id @param {string} precision */
const withFloat32 = (id, precision) => id.slice(0, -precision.length) + FLOAT32;

/** TFLOP/s end to end, ours and each peer's. @param {readonly { id: string; answer: Answer }[]} benches */
function bars(benches) {
  const rows = benches.flatMap(({ id, answer }) =>
    Object.keys(answer["medianMilliseconds"]).map((side) => ({ id, side, value: rate(answer, side) ?? 0 })),
  );
  const most = Math.max(...rows.map(({ value }) => value), Number.MIN_VALUE);
  const [height, left, width] = [18, 360, 420];
  const drawn = rows.map(({ id, side, value }, index) => {
    const y = index * height;
    const kind = side === OURS ? "half" : "single";
    return (
      `<text x="${left - 8}" y="${y + 13}" text-anchor="end">${escaped(`${id} ${side}`)}</text>` +
      `<rect class="${kind}" x="${left}" y="${y + 3}" width="${((value / most) * width).toFixed(1)}" height="${height - 6}"/>` +
      `<text x="${(left + (value / most) * width + 6).toFixed(1)}" y="${y + 13}">${fixed(value, 2)}</text>`
    );
  });
  const whole = `0 0 ${left + width + 70} ${rows.length * height}`;
  return `<figure><figcaption>TFLOP/s of the matrix products in the whole step's time</figcaption><svg viewBox="${whole}" role="img" aria-label="TFLOP/s by workload and side">${drawn.join("")}</svg></figure>`;
}

/** Beside what source 002 reports and what is aimed at. @param {readonly { id: string; answer: Answer }[]} benches */
function reached(benches) {
  const gains = benches.flatMap(({ id, answer }) => {
    const single = benches.find((other) => other.id === withFloat32(id, answer["precision"]))?.answer;
    if (!id.startsWith("word-lm/") || answer["precision"] === FLOAT32 || single === undefined) return [];
    return [single["medianMilliseconds"][OURS] / answer["medianMilliseconds"][OURS]];
  });
  const products = benches.flatMap(({ answer }) =>
    (answer["operators"]?.rows ?? [])
      .filter((/** @type {Answer} */ { op }) => op === "MatMul" || op === "Gemm")
      .map((/** @type {Answer} */ { teraflops }) => teraflops ?? 0),
  );
  const ratios = benches.flatMap(({ answer }) => answer["ratioOfMedians"]?.["torch"] ?? []);
  const rows = [
    ["word model, mixed over float32, end to end: the best", fixed(Math.max(...gains), 2), "4.1 or more"],
    [
      "TFLOP/s in matrix products: the best",
      fixed(Math.max(...products), 1),
      "474 on an H100, 60 % of its 790",
    ],
    ["ours over PyTorch eager: the worst", fixed(Math.max(...ratios), 3), "at most 1.05"],
  ].filter(([, value]) => value !== "");
  return table(["", "measured", "wanted"], rows);
}

/** @param {{ id: string; answer: Answer }} bench */
function operators({ id, answer: { operators: gain } }) {
  if (gain.unsupported !== undefined) return `<p>${escaped(id)}: none, ${escaped(gain.unsupported)}</p>`;
  const rows = gain.rows.map((/** @type {Answer} */ row) => [
    row["op"],
    fixed(row["float32Milliseconds"], 3),
    fixed(row["milliseconds"], 3),
    `${fixed(row["share"] * 100, 2)} %`,
    fixed(row["speedUp"], 2),
    fixed(row["float32Teraflops"], 2),
    fixed(row["teraflops"], 2),
  ]);
  rows.push(["all", fixed(gain.float32Milliseconds, 3), fixed(gain.milliseconds, 3), "", "", "", ""]);
  const header = ["operator", "float32 ms", "ms", "share", "times", "float32 TFLOP/s", "TFLOP/s"];
  return `<h3>${escaped(id)}</h3>${table(header, rows)}`;
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
  return `<h3>${escaped(id)}</h3><p>${escaped(counts.join(", "))}</p>${failures.length === 0 ? "" : list(failures)}`;
}

/** @param {readonly { id: string; answer: Answer }[]} jobs */
function apps(jobs) {
  const rows = jobs
    .filter(({ id, answer }) => id.startsWith("app/") && answer?.["metric"] !== undefined)
    .map(({ id, answer }) => [id, `${answer["metric"].name} ${fixed(answer["metric"].value, 3)}`]);
  return table(["", "held out"], rows);
}

/** @param {unknown} answer @returns {boolean} */
function hasFailed(answer) {
  return typeof answer === "object" && answer !== null && "failed" in answer;
}

/** @param {{ id: string; answer: Answer }} job */
function failed({ id, answer }) {
  return `<h3>${escaped(id)}</h3><p>${escaped(answer["failed"])}</p><pre>${escaped(answer["errors"] ?? "")}</pre>`;
}
