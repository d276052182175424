import { addHistograms, type ExponentHistogram, type GroupHistogram } from "@mp/core/report";

/** One row of a plot by layer. */
export interface LayerHistogram {
  readonly layer: string;
  readonly histogram: ExponentHistogram;
}

/** Largest number of rows in a plot; more could not be distinguished. */
const MOST_ROWS = 24;
/** Smallest number of rows in a plot; fewer would not show where in the model something is. */
const FEWEST_ROWS = 8;

/**
 * Sums histograms by layer, in the order of the model. If a plot has no room for all layers, those that differ only in
 * the deepest parts of their paths share a row, while at least 8 rows are left. If too many rows remain, neighbors
 * share a row.
 */
export function byLayer(groups: readonly GroupHistogram[]): readonly LayerHistogram[] {
  const deepest = Math.max(1, ...groups.map(({ layer }) => layer.split("/").length));
  let rows = atDepth(groups, deepest);
  for (let depth = deepest - 1; depth >= 1 && rows.length > MOST_ROWS; depth--) {
    const fewer = atDepth(groups, depth);
    if (fewer.length < FEWEST_ROWS) break;
    rows = fewer;
  }
  return mergeNeighbors(rows, Math.ceil(rows.length / MOST_ROWS));
}

function atDepth(groups: readonly GroupHistogram[], depth: number): readonly LayerHistogram[] {
  const within = new Map<string, Set<string>>();
  const rowPath = (layer: string): string => layer.split("/").slice(0, depth).join("/");
  for (const { layer } of groups) {
    const row = rowPath(layer);
    const [, next] = layer.slice(row.length).split("/");
    const parts = within.get(row) ?? new Set();
    within.set(row, next === undefined ? parts : parts.add(next));
  }
  return mergeByName(groups, (layer) => rowName(rowPath(layer), [...(within.get(rowPath(layer)) ?? [])]));
}

/** Names a row; several parts of a `sequential` by the first and the number of others: `0/0 conv +2`. */
function rowName(row: string, [first, ...more]: readonly string[]): string {
  if (first === undefined || !/(^|\/)\d+ sequential$/.test(row)) return layerName(row);
  return `${layerName(`${row}/${first}`)}${more.length === 0 ? "" : ` +${more.length}`}`;
}

function mergeNeighbors(rows: readonly LayerHistogram[], size: number): readonly LayerHistogram[] {
  if (size <= 1) return rows;
  return Array.from({ length: Math.ceil(rows.length / size) }, (_, index) => {
    const part = rows.slice(index * size, (index + 1) * size);
    const more = part.length > 1 ? ` +${part.length - 1}` : "";
    const histogram = addHistograms(part.map((row) => row.histogram));
    return { layer: `${part[0]?.layer ?? ""}${more}`, histogram };
  });
}

function mergeByName(
  groups: readonly GroupHistogram[],
  nameOf: (layer: string) => string,
): readonly LayerHistogram[] {
  const parts = new Map<string, ExponentHistogram[]>();
  for (const { layer, histogram } of groups) {
    const name = nameOf(layer);
    parts.set(name, [...(parts.get(name) ?? []), histogram]);
  }
  return [...parts].map(([layer, histograms]) => ({ layer, histogram: addHistograms(histograms) }));
}

/** The path of a scope, as the page shows it. */
export const layerName = (layer: string): string =>
  layer.replace(/(^|\/)(\d+) sequential(?=\/)/g, "$1$2") || "(top level)";

/** Number of values in a histogram, including zeros, infinities and NaN. */
export function valueCount({ counts, zeros, infinities, nans }: ExponentHistogram): number {
  return counts.reduce((sum, count) => sum + count, zeros + infinities + nans);
}
