import type { PrecisionReport } from "@mp/core";
import type { StateTensor } from "@mp/core/report";
import { html, type Markup } from "../html.js";
import type { NameOf } from "../layer-names.js";
import { layerName } from "../layers.js";
import { bytes, count, percent } from "../numbers.js";
import { foldable } from "./foldable.js";
import { rangeColumns } from "./ranges.js";
import { type Column, table } from "./table.js";

const places: readonly Column<StateTensor>[] = [
  ...rangeColumns,
  { head: "below normal", isNumber: true, cell: ({ subnormal }) => percent(subnormal) },
];
const columns: readonly Column<StateTensor>[] = [
  { head: "parameter", isName: true, cell: ({ parameter }) => parameter },
  { head: "state", cell: ({ slot }) => slot },
  { head: "held in", cell: ({ format }) => format },
  { head: "memory", isNumber: true, cell: (row) => bytes(row.bytes) },
  { head: "in f32", isNumber: true, cell: ({ bytesInF32 }) => bytes(bytesInF32) },
  ...places,
];

/** Lists the tensors of the optimizer's state, those with the most lost values first. */
export function optimizerSection({ optimizer }: PrecisionReport, nameOf: NameOf): Markup | undefined {
  const rows = optimizer.tensors.map((row) => ({
    ...row,
    parameter: row.parameter === "" ? "(all)" : layerName(nameOf(row.parameter)),
  }));
  if (rows.length === 0) return undefined;
  const sum = (of: "bytes" | "bytesInF32"): string => bytes(rows.reduce((total, row) => total + row[of], 0));
  return html`<section aria-labelledby="optimizer">
<h2 id="optimizer">What the optimizer keeps</h2>
<p>${optimizer.isShare ? "Of a state that is divided among ranks, the share of this one: " : undefined}${count(rows.length, "tensor")} in ${sum("bytes")}, scales included, which in float32 would be ${sum("bytesInF32")}. Smallest and largest are the exponents of values that are not 0, decoded. Those below the normal range of their format have fewer digits, and zeros of f16, 8-bit floats and u8 may have been flushed: tensors with most of both come first. A second moment of 0 makes the steps of its weight large; bf16 has float32's range.</p>
${foldable({ summary: `${count(rows.length, "tensor")} with format and range`, rows, wide: table("Optimizer state", columns, rows), card })}
</section>
`;
}

/** A row in the list for narrow pages. */
function card(row: StateTensor): Markup {
  return html`<li><span>${row.parameter}</span> <span>${row.slot}</span> <span>${bytes(row.bytes)} in ${row.format}</span>
<p>${places.map(({ head, cell }) => html`${head} ${cell(row)} `)}</p></li>
`;
}
