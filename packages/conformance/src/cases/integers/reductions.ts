/** Sums and products of integers wrap around; searches compare every bit. */
import type { Op } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { hostData } from "../../host-data.js";
import {
  drawIntegers,
  edges,
  greater,
  INTEGER_DTYPES,
  type IntegerDType,
  integerData,
  lesser,
  neighbours,
  wrap,
} from "../../samples/integers.js";
import { integerCase, type KnownSample } from "./integer-case.js";

type Fold = (a: bigint, b: bigint) => bigint;
type FoldOp = "ReduceSum" | "ReduceProd" | "ReduceMax" | "ReduceMin";

const folds: Readonly<Record<FoldOp, Fold>> = {
  ReduceSum: (a, b) => a + b,
  ReduceProd: (a, b) => a * b,
  ReduceMax: greater,
  ReduceMin: lesser,
};

type Draw = (count: number) => readonly bigint[];

/** Lists to reduce, of odd and even lengths. None has a 0, so that products keep many bits. */
const foldLists = (dtype: IntegerDType, draw: Draw): readonly (readonly bigint[])[] => [
  edges(dtype).filter((x) => x !== 0n),
  draw(67).map((x) => (x === 0n ? 3n : x)),
  ...neighbours(dtype),
];

function foldSamples(dtype: IntegerDType, f: Fold, draw: Draw): readonly KnownSample<"ReduceSum">[] {
  const all = (values: readonly bigint[]): bigint => values.reduce((sum, x) => wrap(dtype, f(sum, x)));
  const vectors = foldLists(dtype, draw).map(
    (values): KnownSample<"ReduceSum"> => ({
      attributes: { axes: [0], keepdims: false },
      inputs: [integerData(dtype, values)],
      want: [integerData(dtype, [all(values)], [])],
    }),
  );
  const [rows, columns] = [3, 17];
  const table = draw(rows * columns);
  const cell = (row: number, column: number): bigint => table[row * columns + column] ?? 0n;
  const along = (axis: number, want: readonly (readonly bigint[])[]): KnownSample<"ReduceSum"> => ({
    attributes: { axes: [axis], keepdims: false },
    inputs: [integerData(dtype, table, [rows, columns])],
    want: [integerData(dtype, want.map(all))],
  });
  const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);
  return [
    ...vectors,
    along(
      0,
      upTo(columns).map((column) => upTo(rows).map((row) => cell(row, column))),
    ),
    along(
      1,
      upTo(rows).map((row) => upTo(columns).map((column) => cell(row, column))),
    ),
  ];
}

const reductions: readonly ConformanceCase[] = (Object.keys(folds) as FoldOp[]).flatMap((op) =>
  INTEGER_DTYPES.map((dtype) => {
    const wraps = op === "ReduceSum" || op === "ReduceProd";
    return integerCase(
      `integer/${op}-${dtype}/${wraps ? "wraps-around" : "looks-at-every-bit"}`,
      op as "ReduceSum",
      (random) => foldSamples(dtype, folds[op], (count) => drawIntegers(random, dtype, count)),
    );
  }),
);

const cumulative: readonly ConformanceCase[] = (["i32", "i64"] as const).map((dtype) =>
  integerCase(`integer/CumSum-${dtype}/wraps-around`, "CumSum", (random) =>
    foldLists(dtype, (count) => drawIntegers(random, dtype, count)).flatMap((values) =>
      [false, true].map((reverse): KnownSample<"CumSum"> => {
        const order = reverse ? [...values].reverse() : values;
        let sum = 0n;
        const sums = order.map((x) => {
          sum = wrap(dtype, sum + x);
          return sum;
        });
        return {
          attributes: { axis: 0, exclusive: false, reverse },
          inputs: [integerData(dtype, values)],
          want: [integerData(dtype, reverse ? sums.reverse() : sums)],
        };
      }),
    ),
  ),
);

/** Indices sorted by their values; equal values keep the order of indices. */
function rank(values: readonly bigint[], largest: boolean): readonly number[] {
  const sign = largest ? -1 : 1;
  const order = (a: number, b: number): number => {
    const [x, y] = [values[a] ?? 0n, values[b] ?? 0n];
    return x === y ? a - b : x < y ? -sign : sign;
  };
  return values.map((_, at) => at).sort(order);
}

const searchLists = (dtype: IntegerDType, draw: Draw): readonly (readonly bigint[])[] => [
  edges(dtype),
  [...edges(dtype)].reverse(),
  draw(67),
  ...neighbours(dtype),
];

const searches: readonly ConformanceCase[] = (["ArgMax", "ArgMin"] as const).flatMap((op) =>
  INTEGER_DTYPES.map((dtype) =>
    integerCase(`integer/${op}-${dtype}/looks-at-every-bit`, op, (random) =>
      searchLists(dtype, (count) => drawIntegers(random, dtype, count)).map((values) => ({
        attributes: { axis: 0, keepdims: false },
        inputs: [integerData(dtype, values)],
        want: [hostData("i32", [rank(values, op === "ArgMax")[0] ?? 0], [])],
      })),
    ),
  ),
);

const top: readonly ConformanceCase[] = INTEGER_DTYPES.map((dtype) =>
  integerCase(`integer/TopK-${dtype}/looks-at-every-bit`, "TopK" satisfies Op, (random) =>
    searchLists(dtype, (count) => drawIntegers(random, dtype, count)).flatMap((values) =>
      [true, false].map((largest): KnownSample<"TopK"> => {
        const k = Math.min(7, values.length);
        const places = rank(values, largest).slice(0, k);
        return {
          attributes: { axis: 0, k, largest },
          inputs: [integerData(dtype, values)],
          want: [
            integerData(
              dtype,
              places.map((place) => values[place] ?? 0n),
            ),
            hostData("i32", places),
          ],
        };
      }),
    ),
  ),
);

export const integerReductionCases: readonly ConformanceCase[] = [
  ...reductions,
  ...cumulative,
  ...searches,
  ...top,
];
