import type { HalfDType } from "@mp/core";
import { isHalf } from "@mp/core/graph";
import { addHistograms, type GroupHistogram } from "@mp/core/report";
import {
  axisX,
  axisY,
  type LinkOptions,
  link,
  type Markish,
  type RectOptions,
  rect,
  rectY,
  ruleX,
  ruleY,
  text,
} from "@observablehq/plot";
import { type Figure, type Room, textWidth } from "../figure.js";
import { valueCount } from "../layers.js";
import { type MagnitudeAxis, type Stretch, stretches } from "../magnitude.js";
import { percent } from "../numbers.js";
import { below, beside } from "./axes.js";

export interface ExponentsOptions {
  readonly title: string;
  readonly groups: readonly GroupHistogram[];
  readonly axis: MagnitudeAxis;
  readonly half: HalfDType;
  /** In pixels, the same as in the plot by layer, so that their axes line up. */
  readonly marginLeft: number;
}

const MARGIN_RIGHT = 14;
/** Pixels between bars; at most a fifth of a bar, if the axis has many exponents. */
const GAP = 1;
/** Height of the plot, relative to the highest bar: above the bars is a strip for each half dtype. */
const TOP = 1.45;

interface Bar {
  readonly x1: number;
  readonly x2: number;
  readonly y1: number;
  readonly y2: number;
  readonly fill: string;
}

const edges = { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "fill" } as const;

function gapIn({ domain: [low, high] }: MagnitudeAxis, width: number) {
  const inset = Math.min(GAP, width / (high - low) / 5) / 2;
  return { insetLeft: inset, insetRight: inset };
}

/** Draws how many values in `groups` have each magnitude, in front of the ranges of the half dtypes. */
export function exponentsFigure({ title, groups, axis, half, marginLeft }: ExponentsOptions): Figure {
  const sumHistograms = (own: readonly GroupHistogram[]) =>
    addHistograms(own.map(({ histogram }) => histogram));
  const parts = [
    { fill: "var(--half)", histogram: sumHistograms(groups.filter(isHeld)) },
    { fill: "var(--single)", histogram: sumHistograms(groups.filter((group) => !isHeld(group))) },
  ];
  const total = parts.reduce((sum, { histogram }) => sum + valueCount(histogram), 0);
  const bars: Bar[] = [];
  const tops = new Map<number, number>();
  const zeros: Bar[] = [];
  let zeroTop = 0;
  for (const { fill, histogram } of parts) {
    histogram.counts.forEach((count, index) => {
      const exponent = histogram.first + index;
      const y1 = tops.get(exponent) ?? 0;
      const y2 = y1 + count / total;
      tops.set(exponent, y2);
      if (count > 0) bars.push({ x1: exponent, x2: exponent + 1, y1, y2, fill });
    });
    const [x1, x2] = axis.zeros;
    const y2 = zeroTop + histogram.zeros / total;
    if (histogram.zeros > 0) zeros.push({ x1, x2, y1: zeroTop, y2, fill });
    zeroTop = y2;
  }
  const highest = Math.max(...tops.values(), 0.01);
  return {
    title,
    description: `${total.toLocaleString("en")} values by binary exponent; ${percent(zeroTop)} are zero`,
    legend: [
      { color: "var(--half)", text: `held in ${half}` },
      { color: "var(--single)", text: "held in f32" },
    ],
    isNarrow: true,
    ...(zeroTop > highest
      ? { caption: `The bar of zeros is cut: ${percent(zeroTop)} of the values are zero.` }
      : {}),
    draw: (room) => ({
      height: 238,
      marginLeft,
      marginRight: MARGIN_RIGHT,
      marginTop: 26,
      marginBottom: 40,
      x: { domain: [...axis.domain], label: null },
      y: { domain: [0, highest * TOP], label: null, percent: false },
      marks: [
        ...bands(axis, highest * TOP),
        ...strips(axis, highest, room.width - marginLeft - MARGIN_RIGHT),
        ruleY([0], { stroke: "var(--axis)" }),
        rectY(bars, { ...edges, ...gapIn(axis, room.width - marginLeft - MARGIN_RIGHT) }),
        rectY(zeros, {
          ...edges,
          y1: ({ y1 }: Bar) => Math.min(y1, highest),
          y2: ({ y2 }: Bar) => Math.min(y2, highest),
        }),
        ...(zeroTop > highest ? breakMarks(axis, highest, percent(zeroTop)) : []),
        magnitudeAxisMark(axis, room),
        axisY({
          ...beside("% of values"),
          ticks: 4,
          tickFormat: (share: number) => percent(share).slice(0, -2),
          labelOffset: 36,
        }),
      ],
    }),
  };
}

/** Marks the bar of zeros as truncated, with its height, if it is higher than the plot. */
function breakMarks({ zeros }: MagnitudeAxis, highest: number, label: string): readonly Markish[] {
  const slant = (height: number, options: LinkOptions): Markish =>
    link([height], {
      x1: zeros[0] - 0.8,
      x2: zeros[1] + 0.8,
      y1: height - 0.025 * highest,
      y2: height + 0.025 * highest,
      ...options,
    });
  const [lower, upper] = [0.8 * highest, 0.85 * highest];
  return [
    slant((lower + upper) / 2, { stroke: "var(--panel)", strokeWidth: 7 }),
    ...[lower, upper].map((height) => slant(height, { stroke: "var(--ink)", strokeWidth: 1.2 })),
    text([label], {
      x: zeros[1],
      y: highest,
      dx: 3,
      dy: 1,
      textAnchor: "start",
      lineAnchor: "top",
      fill: "var(--ink)",
    }),
  ];
}

const isHeld = ({ dtype }: GroupHistogram): boolean => isHalf(dtype);

/** Ticks and label of the axis of magnitudes. */
export function magnitudeAxisMark(axis: MagnitudeAxis, { isNarrow }: Room): Markish {
  const middle = (axis.zeros[0] + axis.zeros[1]) / 2;
  const ticks = isNarrow ? axis.ticks.filter((_, index) => index % 2 === 0) : axis.ticks;
  return axisX([middle, ...ticks.filter((tick) => tick > axis.low)], {
    ...below("binary exponent, log₂ |x|"),
    tickFormat: (tick: number) => (tick === middle ? "zero" : String(tick).replace("-", "−")),
  });
}

/** Bands behind the bars where f16 is 0, subnormal or infinite. bf16 needs no bands, since it has the range of f32. */
function bands(axis: MagnitudeAxis, top: number): readonly Markish[] {
  return stretches("f16", axis)
    .filter(({ what }) => what !== "normal")
    .map((stretch) => box(stretch, 0, top, { fillOpacity: 0.1, ariaHidden: "true" }));
}

/** A box over a range of the axis between two heights. */
const box = ({ from, to, what }: Stretch, y1: number, y2: number, options: RectOptions): Markish =>
  rect([0], { x1: from, x2: to, y1, y2, fill: `var(--${what})`, ...options });

const words: Readonly<Record<Stretch["what"], string>> = {
  zero: "0",
  subnormal: "subnormal",
  normal: "normal",
  infinite: "∞",
};

/** The ranges of f16 and bf16 as two labeled strips above the bars. */
function strips(axis: MagnitudeAxis, highest: number, width: number): readonly Markish[] {
  const perExponent = width / (axis.domain[1] - axis.domain[0]);
  return (["f16", "bf16"] as const).flatMap((half, row) => {
    const [y1, y2] = [highest * (1.32 - 0.135 * row), highest * (1.44 - 0.135 * row)];
    return stretches(half, axis).flatMap((stretch) => {
      const { from, to, what } = stretch;
      const label = [`${half} ${words[what]}`, words[what]].find(
        (candidate) => textWidth(candidate) < (to - from) * perExponent - 2,
      );
      return [
        box(stretch, y1, y2, { fillOpacity: 0.35, insetLeft: 0.5, insetRight: 0.5 }),
        label === undefined
          ? null
          : text([label], {
              x: (from + to) / 2,
              y: (y1 + y2) / 2,
              fill: "var(--ink)",
            }),
      ];
    });
  });
}

/** The edges of f16's ranges, for plots without strips. */
export function f16Edges(axis: MagnitudeAxis): Markish {
  const inner = stretches("f16", axis)
    .slice(1)
    .map(({ from }) => from);
  return ruleX(inner, { stroke: "var(--ink)", strokeDasharray: "2,3", strokeOpacity: 0.6 });
}
