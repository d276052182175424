import { tensor } from "@mp/core";
import { describe, expect, it } from "vitest";
import { columnStatistics, splitRows, standardize, type WindowsOptions, windows } from "../index.js";

const rows = [
  { a: 1, b: 5, name: "x" },
  { a: 2, b: 5, name: "y" },
  { a: null, b: 5, name: "z" },
  { a: 4, b: 5, name: "?" },
];

describe("splitRows", () => {
  const numbers = Array.from({ length: 10 }, (_, at) => at);

  it("takes the last rows, or rows by a seed, each part in order", () => {
    expect(splitRows(numbers)).toEqual({ train: [0, 1, 2, 3, 4, 5, 6, 7], test: [8, 9] });
    const drawn = splitRows(numbers, { testShare: 0.4, shuffle: { seed: 3 } });
    expect(drawn.test.length).toBe(4);
    expect([...drawn.test].sort((a, b) => a - b)).toEqual(drawn.test);
    expect([...drawn.train, ...drawn.test].sort((a, b) => a - b)).toEqual(numbers);
    expect(drawn).toEqual(splitRows(numbers, { testShare: 0.4, shuffle: { seed: 3 } }));
    expect(drawn.test).not.toEqual(splitRows(numbers, { testShare: 0.4, shuffle: { seed: 4 } }).test);
  });

  it.each<[() => unknown, string]>([
    [() => splitRows([1]), "splitRows: rows must be a list with at least two rows"],
    [() => splitRows(numbers, { testShare: 1 }), "testShare must be a number above 0 and below 1, got 1"],
    [
      () => splitRows(numbers, { testShare: 0.01 }),
      "testShare must leave rows in both parts, got 0.01 of 10 rows",
    ],
  ])("refuses %#", (split, message) => {
    expect(split).toThrow(message);
  });
});

describe("columnStatistics and standardize", () => {
  // As StandardScaler of scikit-learn: mean 7/3, variance ((4/3)² + (1/3)² + (5/3)²) / 3 = 14/9; constant columns by 1.
  const fitted = columnStatistics(rows, ["a", "b"]);
  const scaled = (value: number) => (value - 7 / 3) / Math.sqrt(14 / 9);

  it("leave missing values out, and are plain values that JSON keeps", () => {
    expect(fitted).toEqual([
      { name: "a", mean: 7 / 3, deviation: expect.closeTo(Math.sqrt(14 / 9), 12) },
      { name: "b", mean: 5, deviation: 1 },
    ]);
    expect(JSON.parse(JSON.stringify(fitted))).toEqual(fitted);
  });

  it.each<["mean" | "previous", number]>([
    ["mean", 0],
    ["previous", scaled(2)],
  ])("fill missing values by the %s", (missing, third) => {
    const x = standardize(rows, fitted, { missing });
    expect(x.shape).toEqual([4, 2]);
    const wanted = [scaled(1), 0, scaled(2), 0, third, 0, scaled(4), 0];
    for (const [at, want] of wanted.entries()) expect(x.data[at]).toBeCloseTo(want, 6);
  });

  it("begin with the mean if no value is before", () => {
    const x = standardize([{ a: Number.NaN }, { a: 4 }, {}], fitted.slice(0, 1), { missing: "previous" });
    expect(x.data[0]).toBe(0);
    expect(x.data[2]).toBe(x.data[1]);
  });

  it.each<[() => unknown, string]>([
    [
      () => standardize(rows, fitted),
      'column "a" of row 3 must have a value; leave the row out, or pass missing:',
    ],
    [
      () => columnStatistics(rows, ["name"]),
      'column "name" of row 1 must be a finite number or missing, got "x"',
    ],
    [() => columnStatistics(rows, ["c"]), 'column "c" must have values, and all of them are missing'],
    [() => columnStatistics([], ["a"]), "rows must be a list of rows, not empty"],
    [
      () => standardize(rows, [{ name: "a" }] as never),
      "columns must be a list of what columnStatistics gives",
    ],
    [() => standardize(rows, fitted, { missing: "zero" as never }), "missing must be"],
  ])("refuse %#", (make, message) => {
    expect(make).toThrow(message);
  });
});

describe("windows", () => {
  const series = tensor(
    Float32Array.from({ length: 12 }, (_, at) => at),
    [6, 2],
  );

  it("are each followed by what comes next", () => {
    const { x, y } = windows(series, { length: 3 });
    expect([x.shape, y.shape]).toEqual([
      [3, 3, 2],
      [3, 1, 2],
    ]);
    expect([...x.data]).toEqual([0, 1, 2, 3, 4, 5, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7, 8, 9]);
    expect([...y.data]).toEqual([6, 7, 8, 9, 10, 11]);
  });

  it("take a stride, a horizon and a target of other columns", () => {
    const target = tensor(
      Float32Array.from({ length: 6 }, (_, at) => 100 + at),
      [6, 1],
    );
    const { x, y } = windows(series, { length: 2, horizon: 2, stride: 2, target });
    expect([...x.data]).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(y.shape).toEqual([2, 2, 1]);
    expect([...y.data]).toEqual([102, 103, 104, 105]);
  });

  it.each<[WindowsOptions, string]>([
    [{ length: 6 }, "length and horizon must fit into the series of 6 times, got 6 and 1"],
    [{ length: 0 }, "length must be an integer ≥ 1"],
    [
      { length: 2, target: tensor(new Float32Array(5), [5, 1]) },
      "target must have the series' 6 times, got 5",
    ],
    [{ length: 2, target: tensor(new Float32Array(6)) }, "target must be an f32 tensor [times, columns]"],
  ])("refuse %o", (options, message) => {
    expect(() => windows(series, options)).toThrow(message);
  });
});
