import { axisX, axisY, dot, gridY, lineY, ruleX } from "@observablehq/plot";
import type { Figure, LegendEntry } from "../figure.js";
import type { HistoryStep } from "../history-step.js";
import { powerOfTwo, significant } from "../numbers.js";
import { below, beside } from "./axes.js";

/** The steps of one run, or of several runs by name. */
export type History = readonly HistoryStep[] | Readonly<Record<string, readonly HistoryStep[]>>;

/** Largest number of points of a line; more points than pixels would be drawn over each other. */
const MOST_POINTS = 400;

/** Colors of runs; the red of skipped steps is not among them. */
const COLORS = ["var(--half)", "var(--subnormal)", "var(--normal)", "var(--zero)", "var(--ink)"];
export const MOST_RUNS: number = COLORS.length;

interface Point {
  readonly step: number;
  readonly value: number;
}

interface Run {
  /** Name of the run; empty for a single run. */
  readonly name: string;
  readonly color: string;
  readonly strokeWidth: number;
  readonly steps: readonly (HistoryStep & { readonly step: number })[];
}

const isOfOneRun = (history: History): history is readonly HistoryStep[] => Array.isArray(history);

function toRuns(history: History): readonly Run[] {
  return Object.entries(isOfOneRun(history) ? { "": history } : history).map(([name, steps], run, all) => ({
    name,
    color: COLORS[run % MOST_RUNS] ?? "",
    // Wider below other lines, so that equal lines are both visible.
    strokeWidth: 1.8 + 1.8 * (all.length - 1 - run),
    steps: steps.map((one, index) => ({ ...one, step: one.step ?? index + 1 })),
  }));
}

/** Averages neighbors, so that at most MOST_POINTS remain. */
function averageNeighbors(points: readonly Point[]): readonly Point[] {
  const every = Math.ceil(points.length / MOST_POINTS);
  if (every <= 1) return points;
  return Array.from({ length: Math.ceil(points.length / every) }, (_, index) => {
    const part = points.slice(index * every, (index + 1) * every);
    const value = part.reduce((sum, point) => sum + point.value, 0) / part.length;
    return { step: part.at(-1)?.step ?? 0, value };
  });
}

/** The points before and after each change, which are all that a step line needs. */
function changes(points: readonly Point[]): readonly Point[] {
  return points.filter(
    ({ value }, index) => value !== points[index - 1]?.value || value !== points[index + 1]?.value,
  );
}

/** Keeps at most MOST_POINTS items, at equal distances. */
function sample<T>(items: readonly T[]): readonly T[] {
  const every = Math.ceil(items.length / MOST_POINTS);
  return items.filter((_, index) => index % every === 0);
}

const margins = { marginLeft: 56, marginRight: 22, marginTop: 28, marginBottom: 40, height: 210 } as const;

const stepsAxis = () =>
  axisX({
    ...below("step"),
    ticks: 5,
    tickFormat: (step: number) => (Number.isInteger(step) ? String(step) : ""),
  });

/** Draws the loss of each run. */
export const lossFigure = (history: History): Figure =>
  lineFigure(toRuns(history), { title: "Loss", label: "loss", numberOf: ({ loss }) => loss });

/** Draws the norm of each run's gradients. */
export const gradientFigure = (history: History): Figure =>
  lineFigure(toRuns(history), {
    title: "Gradients",
    label: "norm of all gradients",
    numberOf: ({ gradNorm = Number.NaN }) => gradNorm,
  });

/** Draws the weight of each run's losses. */
export const weightFigure = (history: History): Figure =>
  lineFigure(toRuns(history), {
    title: "What counted",
    label: "weight of the loss, such as labels",
    numberOf: ({ weight = Number.NaN }) => weight,
  });

interface Line {
  readonly title: string;
  readonly label: string;
  readonly numberOf: (step: HistoryStep) => number;
}

/** Draws a line of the number that `numberOf` gives for each step, where finite, and marks skipped steps. */
function lineFigure(runs: readonly Run[], { title, label, numberOf }: Line): Figure {
  const lines = runs.map(({ steps, ...run }) => ({
    ...run,
    count: steps.length,
    points: steps
      .map((step) => ({ step: step.step, value: numberOf(step) }))
      .filter(({ value }) => Number.isFinite(value)),
  }));
  const drawn = lines.filter(({ points }) => points.length > 0);
  const skipped = sample(findSkips(runs).map(({ step }) => step));
  return {
    title,
    description: lines
      .map(({ name, points: [first, ...more], count }) => {
        const last = more.at(-1) ?? first;
        const ends = first && last && `from ${significant(first.value)} to ${significant(last.value)} in`;
        return `${inRun(name)}${ends ?? "not finite in any of"} ${count} steps`;
      })
      .join(", "),
    legend: runLegend(runs, { color: "var(--infinite)", text: "skipped steps" }, skipped.length > 0),
    draw: () => ({
      ...margins,
      x: { domain: stepDomain(runs), label: null },
      // Without a line, the plot could not derive a domain.
      y: { label: null, nice: true, ...(drawn.length === 0 ? { domain: [0, 1] } : {}) },
      marks: [
        gridY({ ticks: 4, stroke: "var(--line)", strokeOpacity: 1 }),
        skipped.length === 0
          ? null
          : ruleX(skipped, { stroke: "var(--infinite)", strokeOpacity: Math.min(0.5, 30 / skipped.length) }),
        ...drawn.map(({ points, color, strokeWidth }) =>
          lineY(averageNeighbors(points), { x: "step", y: "value", stroke: color, strokeWidth }),
        ),
        stepsAxis(),
        axisY({ ...beside(label), ticks: 4 }),
      ],
    }),
  };
}

/** Draws the loss scale of each run, and its skipped steps. */
export function scaleFigure(history: History): Figure {
  const runs = toRuns(history);
  // Only a positive number has a logarithm.
  const shown = runs.map(({ steps, ...run }) => ({
    ...run,
    steps: steps.filter(({ scale }) => scale > 0 && Number.isFinite(scale)),
  }));
  const skipped = sample(findSkips(shown));
  const powers = shown.flatMap(({ steps }) => steps.map(({ scale }) => Math.log2(scale)));
  // Not Math.min(...powers), because a long run has more steps than a call can have arguments.
  const low = Math.floor(powers.reduce((a, b) => Math.min(a, b), powers[0] ?? 0)) - 1;
  const high = Math.ceil(powers.reduce((a, b) => Math.max(a, b), powers[0] ?? 0)) + 1;
  const every = Math.ceil((high - low) / 5);
  const ticks = Array.from(
    { length: Math.floor((high - low) / every) + 1 },
    (_, index) => low + index * every,
  );
  const count = runs.reduce((sum, { steps }) => sum + steps.length, 0);
  const skips = `${findSkips(runs).length} of ${count}`;
  const ends = runs.map(
    ({ name, steps }) => `${inRun(name)}the scale ends at ${significant(steps.at(-1)?.scale ?? 1)}`,
  );
  return {
    title: "Loss scale and skipped steps",
    description: `${skips} steps were skipped; ${ends.join(", ")}`,
    legend: runLegend(
      runs.map((run) => (run.name === "" ? { ...run, name: "loss scale" } : run)),
      { color: "var(--infinite)", text: `skipped (${skips})` },
    ),
    draw: () => ({
      ...margins,
      x: { domain: stepDomain(runs), label: null },
      y: { domain: [low, high], label: null },
      marks: [
        gridY(ticks, { stroke: "var(--line)", strokeOpacity: 1 }),
        ...shown.map(({ steps, color, strokeWidth }) =>
          lineY(changes(steps.map(({ step, scale }) => ({ step, value: scale }))), {
            x: "step",
            y: ({ value }: Point) => Math.log2(value),
            stroke: color,
            strokeWidth,
            curve: "step-after",
          }),
        ),
        skipped.length === 0
          ? null
          : dot(skipped, {
              x: "step",
              y: ({ scale }: HistoryStep) => Math.log2(scale),
              r: skipped.length > 100 ? 2 : 3.5,
              fill: "var(--infinite)",
            }),
        stepsAxis(),
        axisY(ticks, { ...beside("loss scale"), tickFormat: powerOfTwo }),
      ],
    }),
  };
}

const findSkips = (runs: readonly Run[]): Run["steps"] =>
  runs.flatMap(({ steps }) => steps.filter(({ applied }) => !applied));

const inRun = (name: string): string => (name === "" ? "" : `${name}: `);

/** The legend of several runs; a single run needs no entry beside the title. */
const runLegend = (runs: readonly Run[], skips: LegendEntry, isSkipping = true): readonly LegendEntry[] => [
  ...runs.filter(({ name }) => name !== "").map(({ name, color }) => ({ color, text: name })),
  ...(isSkipping ? [skips] : []),
];

function stepDomain(runs: readonly Run[]): [number, number] {
  const first = Math.min(...runs.map(({ steps }) => steps[0]?.step ?? 0));
  const last = Math.max(...runs.map(({ steps }) => steps.at(-1)?.step ?? 1));
  return first === last ? [first - 1, last + 1] : [first, last];
}
