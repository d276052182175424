import type { PrecisionReport } from "@mp/core";
import type { ScaleShare } from "@mp/core/report";
import { figure } from "../figure.js";
import { html, type Markup } from "../html.js";
import { noFittingScale } from "../no-fitting-scale.js";
import { percent, powerOfTwo } from "../numbers.js";
import { scalesFigure } from "../plots/scales.js";
import { findings } from "./findings.js";
import { type Column, table } from "./table.js";

type Row = Readonly<Record<"f16" | "bf16", ScaleShare>>;

const columns: readonly Column<Row>[] = [
  { head: "scale", isNumber: true, cell: ({ f16 }) => powerOfTwo(Math.log2(f16.scale)) },
  ...(["f16", "bf16"] as const).flatMap((half): readonly Column<Row>[] => [
    { head: `0 in ${half}`, isNumber: true, cell: (row) => percent(row[half].zero) },
    { head: `subnormal in ${half}`, isNumber: true, cell: (row) => percent(row[half].subnormal) },
    { head: `∞ in ${half}`, isNumber: true, cell: (row) => percent(row[half].overflow) },
  ]),
];

/** Compares the effects of loss scales on the gradients, and recommends one. */
export function scalesSection(report: PrecisionReport): Markup {
  const { shares, recommendedScale } = report.gradients;
  const misfit = noFittingScale(report);
  const recommended = misfit === undefined ? (recommendedScale ?? undefined) : undefined;
  const used = report.usesHalf && report.half === "f16" ? report.scale : undefined;
  const rows = shares.f16.map((f16, index) => ({ f16, bf16: shares.bf16[index] as ScaleShare }));
  return html`<section aria-labelledby="scales">
<h2 id="scales">Which loss scale fits</h2>
<div class="plots">
<div class="words">
<ul>${findings(report, misfit).map((finding) => html`<li>${finding}</li>`)}</ul>
<p class="note">Shares are of the gradients, of activations and of weights, that are not 0 and that the policy holds in a half.</p>
</div>
${figure(scalesFigure({ shares: shares.f16, recommended, used }))}</div>
<details><summary>The shares at each scale, in both halves</summary>
${table("Shares by scale", columns, rows)}</details>
</section>
`;
}
