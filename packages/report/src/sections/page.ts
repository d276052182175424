import type { PrecisionReport } from "@mp/core";
import { checks, type OptionTable, type OptionValues, readOptions, withDefault } from "@mp/graph/internal";
import { figure } from "../figure.js";
import type { HistoryStep } from "../history-step.js";
import { html, Markup } from "../html.js";
import { layerNames, withLayerNames } from "../layer-names.js";
import { valueCount } from "../layers.js";
import { gradientFigure, lossFigure, MOST_RUNS, scaleFigure, weightFigure } from "../plots/history.js";
import { memoryFigure } from "../plots/memory.js";
import { style } from "../style.js";
import { castSection } from "./casts.js";
import { type CompiledForGpu, compiledSection } from "./compiled.js";
import { optimizerSection } from "./optimizer.js";
import { rangesSection } from "./ranges.js";
import { scalesSection } from "./scales.js";
import { type SkippedStep, skipSection } from "./skips.js";

/** A run as the page shows it. */
export interface ReportedRun {
  /** Name of the run, such as the app's. */
  readonly title: string;
  readonly report: PrecisionReport;
  /** The steps in order. Default: none. */
  readonly history?: readonly HistoryStep[];
  /** Up to five runs by name, which the figures of the training draw over each other in place of `history`. */
  readonly compared?: Readonly<Record<string, readonly HistoryStep[]>>;
  /** Skipped steps that were replayed. Default: none. */
  readonly skips?: readonly SkippedStep[];
  /** Steps compiled for a GPU, one column each, such as float32 and mixed precision. */
  readonly compiled?: readonly CompiledForGpu[];
  /** Main results for the head of the page, as text: `{ "test accuracy": "0.912" }`. */
  readonly results?: Readonly<Record<string, string>>;
  /** End of the run, shown in UTC. Default: now. */
  readonly date?: Date;
  /** Further facts for the head of the page, as text: `{ "seed": "1" }`. */
  readonly facts?: Readonly<Record<string, string>>;
}

const RUN = {
  title: checks.text,
  report: checks.claim("what precisionReport of a trainer gives", isReport),
  history: withDefault([], checks.claim("a list of steps", Array.isArray)),
  compared: withDefault({}, checks.claim("at most five lists of steps, by name", isComparison)),
  skips: withDefault([], checks.claim("a list of skipped steps", Array.isArray)),
  compiled: withDefault([], checks.claim("a list of compiled steps", Array.isArray)),
  results: withDefault({}, checks.object),
  date: checks.optional(checks.claim("a Date", (value) => value instanceof Date)),
  facts: withDefault({}, checks.object),
} satisfies OptionTable<ReportedRun>;

function isComparison(value: unknown): boolean {
  const runs = typeof value === "object" && value !== null ? Object.values(value) : [null];
  return runs.length <= MOST_RUNS && runs.every((run) => Array.isArray(run) && run.length > 0);
}

function isReport(value: unknown): boolean {
  return Array.isArray((value as Partial<PrecisionReport> | null | undefined)?.groups);
}

/** Content policy that forbids loading and scripts, whatever names are in the report. */
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/**
 * Makes a self-contained HTML page, without scripts and fonts, for phones and wide screens. It is dark or light like the
 * reader's system.
 * @throws MP_INVALID_ARGUMENT for an unknown option or a value of the wrong type
 * @example
 * ```ts
 * const report = await training.precisionReport(batch);
 * await writeFile("report.html", precisionReportPage({ title: "my run", report, history, skips: [] }));
 * ```
 */
export function precisionReportPage(run: ReportedRun): string {
  const read = readOptions("precisionReportPage", run, RUN, {
    example: '{ title: "my run", report, history }',
  });
  const { title, history, compared, skips, compiled, results } = read;
  const drawn = Object.keys(compared).length === 0 ? history : compared;
  const steps = Object.values(compared).flat().concat(history);
  const nameOf = layerNames(run.report);
  const report = withLayerNames(run.report, nameOf);
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}: precision report</title>
<link rel="icon" href="data:,">
<style>${new Markup(style)}</style>
</head>
<body>
<main>
<header>
<h1>${title}: precision report</h1>
${Object.keys(results).length === 0 ? undefined : definitions("facts results", results)}
${definitions("facts", headFacts(read))}
</header>
${
  steps.length === 0
    ? undefined
    : html`<section aria-labelledby="training">
<h2 id="training">The training</h2>
<div class="plots">${figure(lossFigure(drawn))}${figure(scaleFigure(drawn))}${steps.some(({ gradNorm }) => gradNorm !== undefined) ? figure(gradientFigure(drawn)) : undefined}${steps.some(({ weight }) => weight !== undefined) ? figure(weightFigure(drawn)) : undefined}</div>
</section>`
}
${scalesSection(report)}
${rangesSection(report, nameOf)}
${skipSection({ skips, history, nameOf })}
${castSection(report.casts)}
${optimizerSection(report, nameOf)}
<section aria-labelledby="memory">
<h2 id="memory">What memory is for</h2>
<div class="plots">
<p class="words">Bytes by the types of the step's values. Not all kinds are in use at once, and an engine may hold the state twice while a step replaces it. The planned peak is the most in use at once when the step runs in its order.</p>
${figure(memoryFigure(report.memory))}
</div>
</section>
${compiledSection(compiled)}
</main>
</body>
</html>
`;
  return page.text;
}

const definitions = (kind: string, facts: Readonly<Record<string, string>>): Markup =>
  html`<dl class="${kind}">${Object.entries(facts).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

function headFacts({
  report,
  history,
  date = new Date(),
  facts,
}: OptionValues<ReportedRun, typeof RUN>): Readonly<Record<string, string>> {
  const skipped = history.filter(({ applied }) => !applied).length;
  const parameters = report.groups
    .filter(({ kind }) => kind === "weights")
    .reduce((sum, { histogram }) => sum + valueCount(histogram), 0);
  return {
    precision: report.precision,
    backend: report.backend,
    engine: `${report.engine.name} ${report.engine.version}`,
    "trained parameters": parameters.toLocaleString("en"),
    ...(history.length === 0
      ? {}
      : { steps: String(history.at(-1)?.step ?? history.length), "skipped steps": String(skipped) }),
    ...facts,
    "date (UTC)": date.toISOString().slice(0, 16).replace("T", " "),
  };
}
