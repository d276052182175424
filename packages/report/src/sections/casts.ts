import type { CastReport } from "@mp/core";
import type { CastExplanation } from "@mp/core/report";
import { html, type Markup } from "../html.js";
import { layerName } from "../layers.js";
import { count } from "../numbers.js";
import { foldable } from "./foldable.js";
import { type Column, table } from "./table.js";

/** Operators that are equal in scope, dtype, reason and source line, with their number. */
interface CastRow extends CastExplanation {
  readonly times: number;
}

const columns: readonly Column<CastRow>[] = [
  { head: "layer", isName: true, cell: ({ scope }) => layerName(scope) },
  { head: "operator", cell: ({ op }) => op },
  { head: "computes in", cell: ({ dtype }) => html`<b class="${dtype}">${dtype}</b>` },
  { head: "times", isNumber: true, cell: ({ times }) => times },
  { head: "because", isWords: true, cell: reasonText },
  { head: "line", isName: true, cell: ({ line }) => (line === undefined ? "" : lineName(line)) },
];

/** Lists the dtype that each operator of the loss computes in, and the rule that decided. */
export function castSection({ policy, hash, nodes, casts, lints }: CastReport): Markup {
  const floats = nodes.filter(({ rule }) => rule !== "not floating" && rule !== "constant");
  const rows = countEqual(floats);
  const counts = new Map<string, number>();
  for (const { dtype } of floats) counts.set(dtype, (counts.get(dtype) ?? 0) + 1);
  const inWords = [...counts].map(([dtype, times]) => `${times.toLocaleString("en")} in ${dtype}`).join(", ");
  return html`<section aria-labelledby="casts">
<h2 id="casts">What computes in which dtype</h2>
<p>Policy <code>${policy}</code>, plan <code>${hash}</code>: ${count(floats.length, "floating operator")} of the loss, ${inWords}; ${count(casts.length, "cast")} inserted. The backward pass of an operator computes in its dtype.</p>
${lints.length === 0 ? undefined : html`<ul>${lints.map(({ severity, message, remedy }) => html`<li><b>${severity}</b>: ${message}; ${remedy}</li>`)}</ul>`}
${foldable({ summary: `${count(rows.length, "place")} with dtype and reason`, rows, wide: table("Cast plan", columns, rows), card })}
</section>
`;
}

/** A row in the list for narrow pages. */
function card({ scope, op, times, dtype, rule, because, line }: CastRow): Markup {
  return html`<li><span><b>${op}</b>${times === 1 ? undefined : ` × ${times}`}</span> <span>computes in <b class="${dtype}">${dtype}</b></span>
<p>${layerName(scope)}${line === undefined ? undefined : ` · ${lineName(line)}`}</p><p>${reasonText({ rule, because })}</p></li>
`;
}

function reasonText({ rule, because }: Pick<CastRow, "rule"> & { because?: string | undefined }): string {
  return because === undefined ? rule : `${rule}: ${because}`;
}

/** Counts equal nodes, such as the steps of a recurrence, as one row. */
function countEqual(nodes: readonly CastExplanation[]): readonly CastRow[] {
  const rows = new Map<string, CastRow>();
  for (const node of nodes) {
    const because = node.because?.replace(/_\d+$/, "");
    const key = [node.scope, node.op, node.dtype, node.rule, because, node.line].join("\n");
    const times = (rows.get(key)?.times ?? 0) + 1;
    rows.set(key, { ...node, ...(because === undefined ? {} : { because }), times });
  }
  return [...rows.values()];
}

/** The file's name and the line number, without folders. */
export function lineName(line: string): string {
  return line.split(/[\\/]/).at(-1)?.replace(/:\d+$/, "") ?? line;
}
