import type { Diagnosis } from "@mp/core";
import { html, type Markup } from "../html.js";
import { count, scaleText } from "../numbers.js";
import type { HistoryStep } from "../plots/history.js";
import { lineName } from "./casts.js";
import { type Column, table } from "./table.js";

/** A skipped step and what its replay found; `undefined` where it found nothing. */
export interface SkippedStep {
  readonly step: number;
  readonly scale: number;
  readonly overflow: Diagnosis | undefined;
}

const columns: readonly Column<SkippedStep>[] = [
  { head: "step", isNumber: true, cell: ({ step }) => step },
  { head: "scale", isNumber: true, cell: ({ scale }) => scaleText(scale) },
  { head: "cause", cell: ({ overflow }) => html`<b>${overflow?.cause ?? "not found again"}</b>` },
  { head: "phase", cell: ({ overflow }) => overflow?.phase ?? "" },
  { head: "first tensor", isName: true, cell: ({ overflow }) => overflow?.value ?? "" },
  { head: "type", isName: true, cell: ({ overflow }) => overflow?.type ?? "" },
  {
    head: "line",
    isName: true,
    cell: ({ overflow }) => (overflow?.line === undefined ? "" : lineName(overflow.line)),
  },
];

/** Which tensor of each skipped step was the first that was not finite, and why. */
export function skipSection(skips: readonly SkippedStep[], history: readonly HistoryStep[]): Markup {
  const skipped = history.filter(({ applied }) => !applied).length;
  const first = skips[0]?.overflow;
  const left = skipped - skips.length;
  return html`<section aria-labelledby="skips">
<h2 id="skips">What overflowed first</h2>
${
  skips.length === 0
    ? html`<p>${skipped === 0 ? "No step was skipped: every loss and every gradient was finite." : `${count(skipped, "step")} skipped, none replayed.`}</p>`
    : html`<p>Each skipped step was run again at its scale with every value looked at; where one was not finite, also at scale 1 and in float32, which tells a scale that is too high from a model that makes infinities or NaN itself.${first === undefined ? undefined : html` The first time: <b>${first.cause}</b>, ${first.because}.`}</p>
${table("Skipped steps", columns, skips)}
${left > 0 ? html`<p class="note">${count(left, "further skipped step")} not replayed.</p>` : undefined}`
}
</section>
`;
}
