import type { PrecisionReport } from "@mp/core";
import { type ExponentHistogram, type GroupHistogram, shareAtScale } from "@mp/core/report";
import { figure } from "../figure.js";
import { html, type Markup } from "../html.js";
import type { NameOf } from "../layer-names.js";
import { layerName, valueCount } from "../layers.js";
import { magnitudeAxis } from "../magnitude.js";
import { percent, powerOfTwo } from "../numbers.js";
import { exponentsFigure } from "../plots/exponents.js";
import { layersFigure, namesWidth } from "../plots/layers.js";
import { recipesTable } from "./recipes.js";
import { type Column, table } from "./table.js";

const sections: Readonly<Record<string, readonly GroupHistogram["kind"][]>> = {
  Gradients: ["gradients", "weight gradients"],
  Activations: ["activations"],
  Weights: ["weights"],
};

/** Columns for a histogram's zeros, smallest and largest exponent. */
export const rangeColumns: readonly Column<Pick<GroupHistogram, "histogram">>[] = [
  { head: "zero", isNumber: true, cell: ({ histogram }) => percent(histogram.zeros / valueCount(histogram)) },
  { head: "smallest", isNumber: true, cell: ({ histogram }) => exponentAt(histogram, 0) },
  { head: "largest", isNumber: true, cell: ({ histogram }) => exponentAt(histogram, -1) },
];

function exponentAt({ first, counts }: ExponentHistogram, place: 0 | -1): string {
  return counts.length === 0 ? "" : powerOfTwo(place === 0 ? first : first + counts.length - 1);
}

const inF16 = (head: string, share: "zero" | "subnormal" | "overflow"): Column<GroupHistogram> => ({
  head: `${head} in f16`,
  isNumber: true,
  cell: ({ histogram }) => percent(shareAtScale(histogram, "f16")[share]),
});

const columns: readonly Column<GroupHistogram>[] = [
  { head: "layer", isName: true, cell: ({ layer }) => layerName(layer) },
  { head: "values", cell: ({ kind }) => kind },
  { head: "held in", cell: ({ dtype }) => dtype },
  { head: "count", isNumber: true, cell: ({ histogram }) => valueCount(histogram).toLocaleString("en") },
  ...rangeColumns,
  inF16("0", "zero"),
  inF16("subnormal", "subnormal"),
  inF16("∞", "overflow"),
  { head: "∞, NaN", isNumber: true, cell: ({ histogram }) => histogram.infinities + histogram.nans },
];

/** Draws the exponents of the step's values, in front of the ranges of f16 and bf16. */
export function rangesSection({ groups, half, recipes }: PrecisionReport, nameOf: NameOf): Markup {
  const axis = magnitudeAxis(groups.map(({ histogram }) => histogram));
  const looked = Object.entries(sections)
    .map(([title, kinds]) => {
      const own = groups.filter(({ kind }) => kinds.includes(kind));
      // Gradients are reversed, so that all plots go from the first layer to the last.
      return { title, groups: title === "Gradients" ? own.reverse() : own };
    })
    .filter(({ groups: own }) => own.length > 0);
  // One left margin for all plots, so that the axes of neighbors line up. Labels of shares need 40 pixels.
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
${recipesTable(recipes, nameOf)}</section>
`;
}
