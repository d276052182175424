import type { Diagnosis } from "@mp/core";
import type { HistoryStep } from "../history-step.js";
import { html, type Markup } from "../html.js";
import type { NameOf } from "../layer-names.js";
import { layerName } from "../layers.js";
import { count, scaleText } from "../numbers.js";
import { lineName } from "./casts.js";
import { foldable } from "./foldable.js";
import { type Column, table } from "./table.js";

/** A skipped step, and the cause that its replay found, if any. */
export interface SkippedStep {
  readonly step: number;
  readonly scale: number;
  readonly overflow: Diagnosis | undefined;
}

/** A skipped step as text; parts are empty if the replay found nothing. */
interface SkipRow {
  readonly step: number;
  readonly scale: string;
  readonly cause: string;
  readonly phase: string;
  /** The layer of the first tensor that was not finite, or the input's name. */
  readonly place: string;
  readonly operator: string;
  readonly type: string;
  readonly line: string;
}

const columns: readonly Column<SkipRow>[] = [
  { head: "step", isNumber: true, cell: ({ step }) => step },
  { head: "scale", isNumber: true, cell: ({ scale }) => scale },
  { head: "cause", cell: ({ cause }) => html`<b>${cause}</b>` },
  { head: "phase", cell: ({ phase }) => phase },
  { head: "layer", isName: true, cell: ({ place }) => place },
  { head: "operator", cell: ({ operator }) => operator },
  { head: "type", isName: true, cell: ({ type }) => type },
  { head: "line", isName: true, cell: ({ line }) => line },
];

function describeSkip({ step, scale, overflow }: SkippedStep, nameOf: NameOf): SkipRow {
  const row = { step, scale: scaleText(scale) };
  if (overflow === undefined) {
    return { ...row, cause: "not found again", phase: "", place: "", operator: "", type: "", line: "" };
  }
  const { cause, phase, value, op, scope, type, line } = overflow;
  const isOperator = phase !== "input" && phase !== "scale";
  return {
    ...row,
    cause,
    phase,
    place: isOperator ? layerName(nameOf(scope)) : value,
    operator: isOperator ? op : "",
    type,
    line: line === undefined ? "" : lineName(line),
  };
}

function card({ step, scale, cause, phase, place, operator, type, line }: SkipRow): Markup {
  const found = [place, operator, type].filter((word) => word !== "").join(" · ");
  const where = [phase, line].filter((word) => word !== "").join(" · ");
  return html`<li><span>step ${step}</span> <span>scale ${scale}</span> <b>${cause}</b>
${found === "" ? undefined : html`<p>${found}</p><p>${where}</p>`}</li>
`;
}

/** Lists causes, the most frequent first, with the explanation and remedy from the first step of each. */
function causeList(skips: readonly SkippedStep[]): Markup | undefined {
  const byCause = new Map<string, Diagnosis[]>();
  for (const { overflow } of skips)
    if (overflow !== undefined)
      byCause.set(overflow.cause, [...(byCause.get(overflow.cause) ?? []), overflow]);
  const causes = [...byCause].sort(([, a], [, b]) => b.length - a.length);
  if (causes.length === 0) return undefined;
  const items = causes.map(([cause, [first, ...others]]) =>
    first === undefined
      ? undefined
      : html`<li><b>${cause}</b>, ${count(others.length + 1, "step")}: ${first.because}. To do: ${first.remedy}.</li>`,
  );
  return html`<ul>${items}</ul>`;
}

export interface SkipParts {
  readonly skips: readonly SkippedStep[];
  readonly history: readonly HistoryStep[];
  readonly nameOf: NameOf;
}

/** Lists the first tensor that was not finite in each skipped step, and why. */
export function skipSection({ skips, history, nameOf }: SkipParts): Markup {
  const rows = skips.map((skip) => describeSkip(skip, nameOf));
  const skipped = history.filter(({ applied }) => !applied).length;
  const left = skipped - skips.length;
  return html`<section aria-labelledby="skips">
<h2 id="skips">What overflowed first</h2>
${
  skips.length === 0
    ? html`<p>${skipped === 0 ? "No step was skipped: every loss and every gradient was finite." : `${count(skipped, "step")} skipped, none replayed.`}</p>`
    : html`<p>Each skipped step was run again at its scale with every value looked at; where one was not finite, also at scale 1 and in float32, which tells a scale that is too high from a model that makes infinities or NaN itself.</p>
${causeList(skips)}
${foldable({ summary: `${count(rows.length, "skipped step")}, and the first tensor that was not finite`, rows, wide: table("Skipped steps", columns, rows), card })}
${left > 0 ? html`<p class="note">${count(left, "further skipped step")} not replayed.</p>` : undefined}`
}
</section>
`;
}
