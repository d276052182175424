import type { PrecisionReport } from "@mp/core";
import { type GroupHistogram, shareAtScale } from "@mp/core/report";
import { figure } from "../figure.js";
import { html, type Markup } from "../html.js";
import { layerName, valueCount } from "../layers.js";
import { magnitudeAxis } from "../magnitude.js";
import { percent, powerOfTwo } from "../numbers.js";
import { exponentsFigure } from "../plots/exponents.js";
import { layersFigure, namesWidth } from "../plots/layers.js";
import { type Column, table } from "./table.js";

const kinds = [
  {
    title: "Gradients",
    isOf: ({ kind }: GroupHistogram) => kind === "gradients" || kind === "weight gradients",
    isBackward: true,
  },
  { title: "Activations", isOf: ({ kind }: GroupHistogram) => kind === "activations", isBackward: false },
  { title: "Weights", isOf: ({ kind }: GroupHistogram) => kind === "weights", isBackward: false },
] as const;

const columns: readonly Column<GroupHistogram>[] = [
  { head: "layer", isName: true, cell: ({ layer }) => layerName(layer) },
  { head: "values", cell: ({ kind }) => kind },
  { head: "held in", cell: ({ dtype }) => dtype },
  { head: "count", isNumber: true, cell: ({ histogram }) => valueCount(histogram).toLocaleString("en") },
  { head: "zero", isNumber: true, cell: ({ histogram }) => percent(histogram.zeros / valueCount(histogram)) },
  {
    head: "smallest",
    isNumber: true,
    cell: ({ histogram }) => (histogram.counts.length === 0 ? "" : powerOfTwo(histogram.first)),
  },
  {
    head: "largest",
    isNumber: true,
    cell: ({ histogram }) =>
      histogram.counts.length === 0 ? "" : powerOfTwo(histogram.first + histogram.counts.length - 1),
  },
  { head: "0 in f16", isNumber: true, cell: ({ histogram }) => percent(shareAtScale(histogram, "f16").zero) },
  {
    head: "subnormal in f16",
    isNumber: true,
    cell: ({ histogram }) => percent(shareAtScale(histogram, "f16").subnormal),
  },
  {
    head: "∞ in f16",
    isNumber: true,
    cell: ({ histogram }) => percent(shareAtScale(histogram, "f16").overflow),
  },
  { head: "∞, NaN", isNumber: true, cell: ({ histogram }) => histogram.infinities + histogram.nans },
];

/** Draws the ranges of the step's numbers against those of both halves. */
export function rangesSection({ groups, half }: PrecisionReport): Markup {
  const axis = magnitudeAxis(groups.map(({ histogram }) => histogram));
  const looked = kinds
    // All from the first layer to the last, though the backward pass comes to them the other way round.
    .map(({ title, isOf, isBackward }) => {
      const own = groups.filter(isOf);
      return { title, groups: isBackward ? own.reverse() : own };
    })
    .filter(({ groups: own }) => own.length > 0);
  // One for all, so that the axes of neighbors line up; at least for the ticks of shares.
  const marginLeft = Math.max(40, ...looked.map(({ groups: own }) => namesWidth(own)));
  return html`<section aria-labelledby="ranges">
<h2 id="ranges">Where the numbers lie</h2>
<p>Every value of one forward and backward pass by its binary exponent, computed in float32 at loss scale 1, so that what a half would have lost is still there. The strips above the bars are the ranges of both halves; behind the bars, what f16 cannot hold at full precision. Below them each layer is a row, scaled to its own fullest place; dashed, where f16 turns from 0 to subnormal, to normal, to infinite. The column at the left is zeros.</p>
<div class="columns">${looked.map(
    ({ title, groups: own }) => html`<div>
${figure(exponentsFigure({ title, groups: own, axis, half, marginLeft }))}
${figure(layersFigure({ title: `${title} by layer`, groups: own, axis, marginLeft }))}</div>`,
  )}</div>
<details><summary>The numbers, group by group</summary>
${table("Ranges by layer", columns, groups)}</details>
</section>
`;
}
