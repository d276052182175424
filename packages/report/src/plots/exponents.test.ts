import type { ExponentHistogram, GroupHistogram } from "@mp/core/report";
import { expect, it } from "vitest";
import { figure } from "../figure.js";
import { magnitudeAxis } from "../magnitude.js";
import { exponentsFigure } from "./exponents.js";

/** The widths of the bars of the narrow and the wide drawing. */
function barWidths(counts: readonly number[]): readonly number[] {
  const histogram = { first: -20, counts, zeros: 0, infinities: 0, nans: 0 } as unknown as ExponentHistogram;
  const groups = [{ dtype: "f16", histogram }] as unknown as readonly GroupHistogram[];
  const axis = magnitudeAxis([histogram]);
  const { text } = figure(exponentsFigure({ title: "t", groups, axis, half: "f16", marginLeft: 40 }));
  const bars = [...text.matchAll(/<g[^>]*aria-label="rect"[^>]*>(.*?)<\/g>/gs)].map(
    ([, group = ""]) => group,
  );
  return bars.flatMap((group) =>
    [...group.matchAll(/<rect[^>]* width="([\d.]+)"/g)].map(([, width]) => Number(width)),
  );
}

it.each([
  ["a few exponents", [1, 2, 3, 2, 1]],
  ["one value far from all others", [1, 2, 3, ...new Array<number>(240).fill(0), 1]],
])("bars of %s are wide enough to be seen", (_name, counts) => {
  const widths = barWidths(counts);
  expect(widths.length).toBeGreaterThanOrEqual(2 * 4);
  expect(Math.min(...widths)).toBeGreaterThan(0.5);
});
