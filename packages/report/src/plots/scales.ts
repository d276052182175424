import type { ScaleShare } from "@mp/core/report";
import { axisX, axisY, dot, type Markish, rectY, ruleX, text } from "@observablehq/plot";
import type { Figure } from "../figure.js";
import { percent, powerOfTwo, scaleText } from "../numbers.js";
import { below, beside } from "./axes.js";

export interface ScalesOptions {
  readonly shares: readonly ScaleShare[];
  /** The recommended scale; undefined if none fits. */
  readonly recommended: number | undefined;
  /** The scale of the next step; undefined if the run does not use f16. */
  readonly used: number | undefined;
}

const FATES = ["zero", "subnormal", "normal", "infinite"] as const;

/** Draws a column for each loss scale: shares of gradients that f16 makes 0, subnormal, normal, infinite. */
export function scalesFigure({ shares, recommended, used }: ScalesOptions): Figure {
  const columns = shares.flatMap(({ scale, zero, subnormal, overflow }) => {
    const parts = [zero, subnormal, 1 - zero - subnormal - overflow, overflow];
    let top = 0;
    return parts.map((part, index) => {
      const y1 = top;
      top += part;
      return { k: Math.log2(scale), y1, y2: top, fill: `var(--${FATES[index]})` };
    });
  });
  const overflowing = shares.filter(({ overflow }) => overflow > 0).map(({ scale }) => Math.log2(scale));
  const first = shares[0];
  return {
    title: "Gradients in f16 at each loss scale",
    description: `shares that become 0, subnormal, normal and infinite; ${percent(first?.zero ?? 0)} become 0 at scale 1; ${recommended === undefined ? "no scale fits" : `recommended scale ${scaleText(recommended)}`}`,
    legend: [
      { color: "var(--zero)", text: "become 0" },
      { color: "var(--subnormal)", text: "subnormal: fewer digits" },
      { color: "var(--normal)", text: "as they should be" },
      { color: "var(--infinite)", text: "overflow (▲ where any do)" },
    ],
    draw: ({ isNarrow }) => ({
      height: 260,
      marginLeft: 40,
      marginRight: 14,
      marginTop: 40,
      marginBottom: 40,
      x: { domain: [-0.7, 24.7], label: null },
      y: { domain: [0, 1.07], label: null },
      marks: [
        rectY(columns, { x1: ({ k }) => k - 0.4, x2: ({ k }) => k + 0.4, y1: "y1", y2: "y2", fill: "fill" }),
        overflowing.length === 0
          ? null
          : dot(overflowing, { x: (k) => k, y: 1.035, symbol: "triangle", r: 3, fill: "var(--infinite)" }),
        ...markers(recommended, used),
        axisX({
          ...below("loss scale"),
          ticks: Array.from({ length: isNarrow ? 5 : 13 }, (_, index) => index * (isNarrow ? 6 : 2)),
          tickFormat: powerOfTwo,
        }),
        axisY({
          ...beside("% of gradients"),
          ticks: [0, 0.25, 0.5, 0.75, 1],
          tickFormat: (share: number) => String(100 * share),
          labelOffset: 34,
        }),
      ],
    }),
  };
}

/** Marks the recommended scale and the scale in use, so that their names do not overlap. */
function markers(recommended: number | undefined, used: number | undefined): readonly Markish[] {
  if (recommended === undefined) return used === undefined ? [] : marker(used, `in use ${scaleText(used)}`);
  if (used === undefined) return marker(recommended, `recommended ${scaleText(recommended)}`);
  if (used === recommended) return marker(used, `recommended and in use ${scaleText(used)}`);
  const both = [
    { scale: recommended, label: `recommended ${scaleText(recommended)}` },
    { scale: used, label: `in use ${scaleText(used)}` },
  ];
  const [left, right] = both.sort((a, b) => a.scale - b.scale);
  if (left === undefined || right === undefined) return [];
  const sides = [isNamedLeft(left.scale, true), isNamedLeft(right.scale, false)] as const;
  // If both names are on one side, one rule would cross the other's name, so that name is drawn higher.
  const lower = sides[0] && sides[1] ? left : right;
  return [left, right].flatMap((one, index) =>
    marker(one.scale, one.label, { isLeft: sides[index], dy: one === lower ? -10 : -24 }),
  );
}

/** Distance in exponents between a rule and an end of the axis that leaves room for the rule's name there. */
const NAME = 9;

const axisPosition = (scale: number): number => Math.min(24.5, Math.max(-0.5, Math.log2(scale)));

/** Whether a name is drawn left of its rule; if both sides have room, `shouldBe` decides. */
function isNamedLeft(scale: number, shouldBe: boolean): boolean {
  const k = axisPosition(scale);
  return k >= NAME && (k > 24 - NAME || shouldBe);
}

function marker(
  scale: number,
  label: string,
  {
    dy = -10,
    isLeft = isNamedLeft(scale, scale > 2 ** 12),
  }: { readonly dy?: number; readonly isLeft?: boolean | undefined } = {},
): readonly Markish[] {
  const k = axisPosition(scale);
  return [
    ruleX([k], { stroke: "var(--ink)", strokeWidth: 1.5, insetTop: dy + 4 }),
    text([label], {
      x: k,
      frameAnchor: "top",
      textAnchor: isLeft ? "end" : "start",
      dx: isLeft ? -4 : 4,
      dy,
      fill: "var(--ink)",
      // Hides the other rule behind the name.
      stroke: "var(--panel)",
      strokeWidth: 4,
      fontWeight: 600,
    }),
  ];
}
