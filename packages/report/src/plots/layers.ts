import type { GroupHistogram } from "@mp/core/report";
import { axisY, barX } from "@observablehq/plot";
import { type Figure, shortened, textWidth } from "../figure.js";
import { byLayer, valueCount } from "../layers.js";
import type { MagnitudeAxis } from "../magnitude.js";
import { f16Edges, magnitudeAxisMark } from "./exponents.js";

export interface LayersOptions {
  readonly title: string;
  readonly groups: readonly GroupHistogram[];
  readonly axis: MagnitudeAxis;
}

interface Cell {
  readonly layer: string;
  readonly x1: number;
  readonly x2: number;
  readonly opacity: number;
}

/** The magnitudes of each layer as a row of cells, the darker the more of its values are there. */
export function layersFigure({ title, groups, axis }: LayersOptions): Figure {
  const rows = byLayer(groups);
  const cells = rows.flatMap(({ layer, histogram }): readonly Cell[] => {
    const total = valueCount(histogram);
    const most = Math.max(...histogram.counts, 1);
    // The root lets a thousandth of the fullest cell still be seen.
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
    draw: (room) => {
      const longest = room.isNarrow ? 15 : 24;
      const labels = rows.map(({ layer }) => shortened(layer, longest));
      return {
        height: 62 + rows.length * (room.isNarrow ? 17 : 18),
        marginLeft: Math.ceil(Math.max(...labels.map(textWidth))) + 10,
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
          axisY({ tickSize: 0, tickFormat: (layer: string) => shortened(layer, longest) }),
        ],
      };
    },
  };
}
