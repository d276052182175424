import type { GroupHistogram } from "@mp/core/report";
import { axisY, barX } from "@observablehq/plot";
import { type Figure, shorten, textWidth } from "../figure.js";
import { byLayer, valueCount } from "../layers.js";
import type { MagnitudeAxis } from "../magnitude.js";
import { f16Edges, magnitudeAxisMark } from "./exponents.js";

export interface LayersOptions {
  readonly title: string;
  readonly groups: readonly GroupHistogram[];
  readonly axis: MagnitudeAxis;
  /** Width of the rows' names, in pixels. */
  readonly marginLeft: number;
}

/** Largest number of characters of a row's name, so that room is left for the row. */
const LONGEST = 16;
const rowLabel = (layer: string): string => shorten(layer, LONGEST);

/** Width of the rows' names in pixels. */
export const namesWidth = (groups: readonly GroupHistogram[]): number =>
  Math.ceil(Math.max(0, ...byLayer(groups).map(({ layer }) => textWidth(rowLabel(layer))))) + 10;

interface Cell {
  readonly layer: string;
  readonly x1: number;
  readonly x2: number;
  readonly opacity: number;
}

/** Draws each layer's magnitudes as a row of cells, darker with more values. */
export function layersFigure({ title, groups, axis, marginLeft }: LayersOptions): Figure {
  const rows = byLayer(groups);
  const cells = rows.flatMap(({ layer, histogram }): readonly Cell[] => {
    const total = valueCount(histogram);
    const most = Math.max(...histogram.counts, 1);
    // The square root keeps a cell visible that has only a thousandth of the fullest cell's values.
    const cell = (x1: number, x2: number, count: number, whole: number): Cell | undefined =>
      count === 0 || total === 0
        ? undefined
        : { layer, x1, x2, opacity: Math.max(0.04, Math.sqrt(count / whole)) };
    const [from, to] = axis.zeros;
    return [
      cell(from, to, histogram.zeros, total),
      ...histogram.counts.map((count, index) =>
        cell(histogram.first + index, histogram.first + index + 1, count, most),
      ),
    ].filter((found) => found !== undefined);
  });
  return {
    title,
    description: `a row for each of ${rows.length} layers, over the binary exponents of its values`,
    isNarrow: true,
    draw: (room) => ({
      height: 62 + rows.length * 18,
      marginLeft,
      marginRight: 14,
      marginTop: 8,
      marginBottom: 40,
      x: { domain: [...axis.domain], label: null },
      y: { domain: rows.map(({ layer }) => layer), label: null, padding: 0.12 },
      opacity: { type: "identity" },
      marks: [
        barX(cells, {
          x1: "x1",
          x2: "x2",
          y: "layer",
          fill: "var(--heat)",
          fillOpacity: "opacity",
          inset: 0,
        }),
        f16Edges(axis),
        magnitudeAxisMark(axis, room),
        axisY({ tickSize: 0, tickFormat: rowLabel }),
      ],
    }),
  };
}
