/** Draws figures of a training run as SVG for other pages. */
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { drawing, type Figure, textWidth } from "../figure.js";
import type { HistoryStep } from "../history-step.js";
import { html, Markup } from "../html.js";
import { gradientFigure, type History, lossFigure, MOST_RUNS, scaleFigure } from "../plots/history.js";
import { fonts, palettes } from "../style.js";

const FIGURES = { loss: lossFigure, scale: scaleFigure, gradients: gradientFigure };
/** Options; a figure narrower than 240 has no room for the labels of its axis. */
const OPTIONS = { width: withDefault(536, checks.integer(240)) };

/**
 * Draws a figure of the precision report's page as SVG: a file for an `<img>`, or text for a page. It has a title, a legend
 * and a background, is light or dark like the reader's system, and loads nothing.
 *
 * - `"loss"`: the loss of each step, not scaled, with lines where steps were skipped;
 * - `"scale"`: the loss scale of each step as a power of two, with dots at skipped steps;
 * - `"gradients"`: the norm of all gradients of each step, unscaled and before clipping, with lines at skipped steps.
 * @param history the results of `training.step`, or those that `fit` passes to `onStep`; or up to five runs by name, which
 * are drawn over each other
 * @param options `width` in CSS pixels, at least 240 and by default 536, at which text has 12 pixels. Within a page it
 * shrinks to the available room; an `<img>` needs `max-width: 100%` for that
 * @example
 * ```ts
 * const history = [];
 * for (const batch of batches) history.push(await training.step(batch));
 * await writeFile("loss.svg", historyChart("loss", history));
 * ```
 * @throws MP_INVALID_ARGUMENT for another figure or width, no run or more than five, a run without steps, or
 * `"gradients"` of a run in which no step has `gradNorm`
 */
export function historyChart(
  figure: "loss" | "scale" | "gradients",
  history: readonly HistoryStep[] | Readonly<Record<string, readonly HistoryStep[]>>,
  options: { readonly width?: number } = {},
): string {
  checks.oneOf(...Object.keys(FIGURES))("historyChart: figure", figure);
  checkHistory(figure, history);
  const { width } = readOptions("historyChart", options, OPTIONS, { example: "{ width: 336 }" });
  return renderSvg(FIGURES[figure](history), width);
}

function checkHistory(figure: string, history: History): void {
  checks.object("historyChart: history", history);
  const runs = Object.entries(Array.isArray(history) ? { history } : history);
  checks.integer(1, MOST_RUNS)("historyChart: the number of runs", runs.length);
  for (const [name, steps] of runs) {
    checkSteps(`historyChart: ${name}`, steps);
    if (figure === "gradients") checkGradients(`historyChart: ${name}`, steps);
  }
}

const isStep = (step: Partial<HistoryStep> | null): boolean =>
  typeof step?.loss === "number" && typeof step.scale === "number" && typeof step.applied === "boolean";
const checkSteps = checks.claim(
  "a list of one or more results of training.step",
  (given) => Array.isArray(given) && given.length > 0 && given.every(isStep),
);
const checkGradients = checks.claim("a list of steps with their gradNorm", (given) =>
  (given as readonly HistoryStep[]).some(({ gradNorm }) => gradNorm !== undefined),
);

/** In CSS pixels. */
const PADDING = 14;
const LINE = 18;
const TITLE_Y = 24;
const SQUARE = 10;
/** Left edge of the plot. Its axis label begins 3 pixels further in; on its right it needs no padding. */
const PLOT_X = PADDING - 3;

/** Renders SVG with styles for a class of its own, because styles of an SVG apply to the whole page. */
function renderSvg({ title, description, legend = [], draw }: Figure, width: number): string {
  const room = { width: width - PLOT_X, isNarrow: width < 480 };
  let [x, y] = [PADDING, TITLE_Y + LINE + 2];
  const entries = legend.map(({ color, text }) => {
    const wide = SQUARE + 6 + textWidth(text);
    if (x > PADDING && x + wide > width - PADDING) [x, y] = [PADDING, y + LINE];
    const entry = html`<rect x="${x}" y="${y - SQUARE + 1}" width="${SQUARE}" height="${SQUARE}" rx="2" fill="${color}"/><text x="${x + SQUARE + 6}" y="${y}" fill="currentColor">${text}</text>
`;
    x += wide + PADDING;
    return entry;
  });
  const top = (legend.length === 0 ? TITLE_Y : y) + 10;
  const options = draw(room);
  const height = top + (options.height ?? 0);
  return html`<svg xmlns="http://www.w3.org/2000/svg" class="mp-chart" role="img" aria-label="${title}: ${description}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<style>
${new Markup(`.mp-chart {${palettes.light}
  color: var(--muted); font: 12px ${fonts}; max-width: 100%; height: auto;
}
.mp-chart text { white-space: pre; font-variant-numeric: tabular-nums; }
@media (prefers-color-scheme: dark) {
  .mp-chart {${palettes.dark} }
}`)}
</style>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="var(--panel)" stroke="var(--line)"/>
<text x="${PADDING}" y="${TITLE_Y}" fill="var(--ink)" font-size="14" font-weight="600">${title}</text>
${entries}${drawing(options, room, { x: String(PLOT_X), y: String(top), "aria-hidden": "true" })}</svg>
`.text;
}
