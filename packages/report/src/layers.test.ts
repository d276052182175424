import type { GroupHistogram } from "@mp/core/report";
import { describe, expect, it } from "vitest";
import { byLayer, valueCount } from "./layers.js";

const group = (layer: string): GroupHistogram => ({
  kind: "activations",
  layer,
  dtype: "f16",
  histogram: { first: 0, counts: [2, 1], zeros: 1, infinities: 1, nans: 1, largest: 3 },
});
const named = (count: number, nameOf: (index: number) => string): readonly GroupHistogram[] =>
  Array.from({ length: count }, (_, index) => group(nameOf(index)));
const values = (groups: readonly GroupHistogram[]): number =>
  byLayer(groups).reduce((sum, { histogram }) => sum + valueCount(histogram), 0);

describe("rows by layer", () => {
  it("are the layers themselves while there is room, equal names joined", () => {
    const groups = [group("a/b"), group(""), group("a/c"), group("a/b")];
    expect(byLayer(groups).map(({ layer, histogram }) => [layer, valueCount(histogram)])).toEqual([
      ["a/b", 12],
      ["(top level)", 6],
      ["a/c", 6],
    ]);
  });

  it("join what is deepest first", () => {
    const groups = named(60, (index) => `block${index % 10}/part${index}`);
    expect(byLayer(groups).map(({ layer }) => layer)).toEqual(
      Array.from({ length: 10 }, (_, index) => `block${index}`),
    );
  });

  it("name what is joined of a sequential by its first part", () => {
    const rows = byLayer([
      ...named(30, (index) => `${index % 10} sequential/${index % 3} conv`),
      group("10 sequential"),
      group("11 dense"),
    ]);
    expect(rows.map(({ layer }) => layer).filter((_, index) => index % 5 === 0 || index > 8)).toEqual([
      "0/0 conv +2",
      "5/2 conv +2",
      "9/0 conv +2",
      "10 sequential",
      "11 dense",
    ]);
  });

  it("join neighbors where less of the path would leave next to nothing", () => {
    const rows = byLayer(named(60, (index) => `model/decoder${index}`));
    expect(rows).toHaveLength(20);
    expect(rows.slice(0, 2).map(({ layer }) => layer)).toEqual(["model/decoder0 +2", "model/decoder3 +2"]);
  });

  it.each([1, 24, 25, 49, 500])("lose no value of %i layers", (count) => {
    const groups = named(count, (index) => `model/layer${index}/part`);
    expect(values(groups)).toBe(6 * count);
    expect(byLayer(groups).length).toBeLessThanOrEqual(24);
  });
});
