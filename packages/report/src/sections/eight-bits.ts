import { type EighthDType, floatFormats } from "@mp/core/graph";
import { type GroupHistogram, shareAtScale } from "@mp/core/report";
import { html, type Markup } from "../html.js";
import { layerName } from "../layers.js";
import { percent } from "../numbers.js";
import { type Column, table } from "./table.js";

/** The fraction of a group's nonzero values that may be lost in a format that the page calls enough. */
const MOST_LOST = 0.01;

/** The fraction of nonzero values that become 0 under one scale, a power of two that takes the largest into the range. */
function lostIn({ histogram }: GroupHistogram, dtype: EighthDType): number {
  const { largest } = histogram;
  return largest === 0 ? 0 : shareAtScale(histogram, dtype, floatFormats[dtype].maxFinite / largest).zero;
}

const lost = (dtype: EighthDType): Column<GroupHistogram> => ({
  head: `0 in ${dtype}`,
  isNumber: true,
  cell: (group) => percent(lostIn(group, dtype)),
});

/** The coarsest recipe under which a group keeps its values. */
function keptBy(group: GroupHistogram): string {
  if (lostIn(group, "f8e4m3") <= MOST_LOST) return "float8, each format";
  if (lostIn(group, "f8e5m2") <= MOST_LOST) return "float8 in f8e5m2";
  return "scales of rows or blocks";
}

const columns: readonly Column<GroupHistogram>[] = [
  { head: "layer", isName: true, cell: ({ layer }) => layerName(layer) },
  { head: "values", cell: ({ kind }) => kind },
  { head: "amax", isNumber: true, cell: ({ histogram }) => histogram.largest.toPrecision(3) },
  lost("f8e4m3"),
  lost("f8e5m2"),
  { head: "is kept by", isWords: true, cell: keptBy },
];

/** Lists what 8 bits would keep of each group of values. */
export const eightBitsTable = (groups: readonly GroupHistogram[]): Markup =>
  html`<details><summary>What 8 bits would keep</summary>
<p>The share of nonzero values that become 0 if one scale, a power of two, takes the largest magnitude (amax) of the row into the format's range: as <code>float8()</code> scales a tensor, so that nothing is saturated. A format is enough if at most ${percent(MOST_LOST)} is lost.</p>
${table("Values in 8 bits by layer", columns, groups)}</details>
`;
