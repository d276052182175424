import { axisX, axisY, dot, gridY, lineY, ruleX } from "@observablehq/plot";
import type { Figure } from "../figure.js";
import { powerOfTwo, significant } from "../numbers.js";

/** The report of one step. */
export interface HistoryStep {
  /** Counted from the very start of the run, from 1. */
  readonly step: number;
  readonly loss: number;
  readonly scale: number;
  readonly applied: boolean;
}

/** More points than a plot has pixels are drawn over each other. */
const MOST_POINTS = 400;

interface Point {
  readonly step: number;
  readonly value: number;
}

/** Means of neighbors, so many that no more than MOST_POINTS are left. */
function thinned(points: readonly Point[]): readonly Point[] {
  const every = Math.ceil(points.length / MOST_POINTS);
  if (every <= 1) return points;
  return Array.from({ length: Math.ceil(points.length / every) }, (_, index) => {
    const part = points.slice(index * every, (index + 1) * every);
    const value = part.reduce((sum, point) => sum + point.value, 0) / part.length;
    return { step: part.at(-1)?.step ?? 0, value };
  });
}

/** Every point at which the value changes, and the one before it: all that a step line needs. */
function changes(points: readonly Point[]): readonly Point[] {
  return points.filter(
    ({ value }, index) => value !== points[index - 1]?.value || value !== points[index + 1]?.value,
  );
}

const everySo = <T>(items: readonly T[]): readonly T[] => {
  const every = Math.ceil(items.length / MOST_POINTS);
  return every <= 1 ? items : items.filter((_, index) => index % every === 0);
};

const margins = { marginLeft: 56, marginRight: 22, marginTop: 28, marginBottom: 40, height: 210 } as const;

const stepsAxis = () =>
  axisX({
    ticks: 5,
    tickSize: 4,
    tickFormat: (step: number) => (Number.isInteger(step) ? String(step) : ""),
    label: "step",
    labelOffset: 32,
    labelAnchor: "center",
    labelArrow: false,
  });

export function lossFigure(history: readonly HistoryStep[]): Figure {
  const all = history.map(({ step, loss }) => ({ step, value: loss }));
  const finite = all.filter(({ value }) => Number.isFinite(value));
  const skipped = everySo(history.filter(({ applied }) => !applied).map(({ step }) => step));
  return {
    title: "Loss",
    description:
      finite.length === 0
        ? `not finite in any of ${history.length} steps`
        : `from ${significant(finite[0]?.value ?? Number.NaN)} to ${significant(finite.at(-1)?.value ?? Number.NaN)} in ${history.length} steps`,
    ...(skipped.length === 0 ? {} : { legend: [{ color: "var(--infinite)", text: "skipped steps" }] }),
    draw: () => ({
      ...margins,
      x: { domain: domainOf(history), label: null },
      // Without a line there is nothing to find a domain from.
      y: { label: null, nice: true, ...(finite.length === 0 ? { domain: [0, 1] } : {}) },
      marks: [
        gridY({ ticks: 4, stroke: "var(--line)", strokeOpacity: 1 }),
        skipped.length === 0
          ? null
          : ruleX(skipped, { stroke: "var(--infinite)", strokeOpacity: Math.min(0.5, 30 / skipped.length) }),
        finite.length === 0
          ? null
          : lineY(thinned(finite), { x: "step", y: "value", stroke: "var(--half)", strokeWidth: 1.8 }),
        stepsAxis(),
        axisY({ ticks: 4, tickSize: 0, label: "loss", labelAnchor: "top", labelArrow: false }),
      ],
    }),
  };
}

export function scaleFigure(history: readonly HistoryStep[]): Figure {
  // A scale that is no positive number has no place among powers of two.
  const shown = history.filter(({ scale }) => scale > 0 && Number.isFinite(scale));
  const points = shown.map(({ step, scale }) => ({ step, value: scale }));
  const skipped = everySo(shown.filter(({ applied }) => !applied));
  // One by one: a long run has more steps than a call may have arguments.
  const [lowest, highest] = points.reduce(
    ([least, most], { value }) => [Math.min(least, Math.log2(value)), Math.max(most, Math.log2(value))],
    points.length === 0 ? [0, 0] : [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
  const [low, high] = [Math.floor(lowest) - 1, Math.ceil(highest) + 1];
  const every = Math.ceil((high - low) / 5);
  const ticks = Array.from(
    { length: Math.floor((high - low) / every) + 1 },
    (_, index) => low + index * every,
  );
  const count = history.filter(({ applied }) => !applied).length;
  return {
    title: "Loss scale and skipped steps",
    description: `${count} of ${history.length} steps were skipped; the scale ends at ${significant(history.at(-1)?.scale ?? 1)}`,
    legend: [
      { color: "var(--half)", text: "loss scale" },
      { color: "var(--infinite)", text: `skipped (${count} of ${history.length})` },
    ],
    draw: () => ({
      ...margins,
      x: { domain: domainOf(history), label: null },
      y: { domain: [low, high], label: null },
      marks: [
        gridY(ticks, { stroke: "var(--line)", strokeOpacity: 1 }),
        lineY(changes(points), {
          x: "step",
          y: ({ value }: Point) => Math.log2(value),
          stroke: "var(--half)",
          strokeWidth: 1.8,
          curve: "step-after",
        }),
        skipped.length === 0
          ? null
          : dot(skipped, {
              x: "step",
              y: ({ scale }: HistoryStep) => Math.log2(scale),
              r: skipped.length > 100 ? 2 : 3.5,
              fill: "var(--infinite)",
            }),
        stepsAxis(),
        axisY(ticks, {
          tickSize: 0,
          tickFormat: powerOfTwo,
          label: "loss scale",
          labelAnchor: "top",
          labelArrow: false,
        }),
      ],
    }),
  };
}

function domainOf(history: readonly HistoryStep[]): [number, number] {
  const [first, last] = [history[0]?.step ?? 0, history.at(-1)?.step ?? 1];
  return first === last ? [first - 1, last + 1] : [first, last];
}
