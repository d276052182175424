import type { DType, HostTensor, Shape } from "@mp/core";
import { isFloat, type OpAttributes, type OpOf } from "@mp/core/graph";
import { generated, hostData } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import { type OpRows, type OpSample, positives, smallIntegers } from "./op-sample.js";

const PRODUCTS: readonly (readonly [Shape, Shape])[] = [
  [[2, 3], [3, 4]],
  [[1, 1], [1, 1]],
  [[3], [3]],
  [[3], [3, 4]],
  [[2, 3], [3]],
  [[5, 2, 3], [3, 4]],
  [[2, 1, 3, 4], [5, 4, 2]],
  [[2, 3, 4], [2, 4, 5]],
  [[3], [2, 3, 4]],
  [[17, 33], [33, 9]],
  [[2, 0], [0, 3]],
  [[0], [0]],
  [[0], [0, 3]],
  [[2, 0], [0]],
  [[2, 4, 0], [0, 3]],
  [[2, 1, 4, 0], [3, 0, 2]],
  [[0, 2, 3], [3, 2]],
  [[0, 2, 3], [0, 3, 2]],
  [[2, 0, 3], [2, 3, 2]],
  [[0, 0], [0, 0]],
  [[0, 3], [3, 2]],
  [[3, 2], [2, 0]],
]; // biome-ignore format: one pair a line

const INFINITE = Number.POSITIVE_INFINITY;

/** One non-finite row or column among ones: its own results are not finite, and all others are. */
function nonFinite(dtype: DType): readonly HostTensor[] {
  const left = [1, 2, 3, Number.NaN, 1, 1, INFINITE, 1, 1, -INFINITE, INFINITE, 1, INFINITE, 0, 1];
  const right = [1, 2, 1, 0, 1, 1];
  return [hostData(dtype, left, [5, 3]), hostData(dtype, right, [3, 2])];
}

const gemm = (given: Partial<OpAttributes["Gemm"]>): OpAttributes["Gemm"] => ({
  transA: false,
  transB: false,
  alpha: 1,
  beta: 1,
  ...given,
});

type Sizes = readonly [rows: number, inner: number, columns: number];

/** Sums without terms are 0, and C is still added; and results without elements. */
const EMPTY: readonly { readonly attributes: Partial<OpAttributes["Gemm"]>; readonly sizes: Sizes }[] = [
  { attributes: {}, sizes: [5, 0, 3] },
  { attributes: { transA: true, transB: true, alpha: 0.5, beta: 2 }, sizes: [5, 0, 3] },
  { attributes: { beta: 0 }, sizes: [1, 0, 3] },
  { attributes: { transA: true }, sizes: [0, 4, 3] },
  { attributes: { transB: true, beta: 2 }, sizes: [5, 4, 0] },
  { attributes: {}, sizes: [0, 0, 0] },
];

type Draw = (random: RandomSource, dtype: DType, shape: Shape) => HostTensor;

function gemms(random: RandomSource, dtype: DType, draw: Draw, exact: boolean): readonly OpSample<"Gemm">[] {
  const one = (
    attributes: Partial<OpAttributes["Gemm"]>,
    c?: Shape,
    [rows, inner, columns]: Sizes = [5, 6, 3],
  ): OpSample<"Gemm"> => {
    const a = draw(random, dtype, attributes.transA === true ? [inner, rows] : [rows, inner]);
    const b = draw(random, dtype, attributes.transB === true ? [columns, inner] : [inner, columns]);
    const rest = c === undefined ? [] : [draw(random, dtype, c)];
    return { attributes: gemm(attributes), inputs: [a, b, ...rest], exact };
  };
  return [
    one({}),
    one({ transA: true }),
    one({ transB: true }),
    one({ transA: true, transB: true }, [3]),
    one({}, [5, 3]),
    one({}, [5, 1]),
    one({}, [1, 3]),
    one({}, []),
    one({ alpha: 0.5 }),
    one({ alpha: 2, beta: 0.25 }, [3]),
    one({ beta: 0 }, [3]),
    one({ transA: true }, [5, 1]),
    one({ transA: true }, [1, 3]),
    one({ transB: true }, [1, 1]),
    one({ transA: true, alpha: 0.5, beta: 2 }, [1, 3]),
    ...EMPTY.flatMap(({ attributes, sizes }) => [
      one(attributes, undefined, sizes),
      one(attributes, [], sizes),
      one(attributes, [sizes[2]], sizes),
      one(attributes, [sizes[0], 1], sizes),
      one(attributes, [sizes[0], sizes[2]], sizes),
    ]),
  ];
}

const EINSUMS: readonly (readonly [equation: string, ...shapes: Shape[]])[] = [
  ["ij,jk->ik", [2, 3], [3, 4]],
  ["ij,jk", [2, 3], [3, 4]],
  [" i j , j k -> k i ", [2, 3], [3, 4]],
  ["bA,cb->cA", [3, 2], [4, 3]],
  ["ji,kj->ik", [3, 2], [4, 3]],
  ["bij,bjk->bik", [2, 3, 4], [2, 4, 5]],
  ["ijb,kbj->bki", [3, 4, 2], [5, 2, 4]],
  ["bqhd,bkhd->bhqk", [2, 3, 2, 4], [2, 5, 2, 4]],
  ["i,i->", [5], [5]],
  ["i,j->ji", [3], [4]],
  ["ij,ij->ji", [3, 4], [3, 4]],
  ["ij,j->ij", [3, 4], [4]],
  ["ij,kl->", [2, 3], [4, 2]],
  ["ij,kl->jl", [2, 3], [4, 2]],
  ["ij,ijk->ik", [2, 3], [2, 3, 4]],
  ["ij->ij", [3, 4]],
  ["ba", [3, 4]],
  ["ij->", [3, 4]],
  ["ijk->ik", [3, 4, 2]],
  [",ij->ji", [], [2, 3]],
  [",", [], []],
  ["ij,jk->ik", [17, 33], [33, 9]],
]; // biome-ignore format: one equation a line

/** A letter twice in a term is a diagonal, and in the result's place it stays one axis. */
const DIAGONALS: typeof EINSUMS = [
  ["ii->i", [4, 4]],
  ["ii", [4, 4]],
  ["iii->i", [3, 3, 3]],
  ["ijij->ji", [2, 3, 2, 3]],
  ["ijji->j", [2, 3, 3, 2]],
  ["ii,ij->j", [3, 3], [3, 2]],
  ["iij,jkk->ik", [2, 2, 3], [3, 2, 2]],
];

const ELLIPSES: typeof EINSUMS = [
  ["...ij,...jk->...ik", [2, 2, 3], [2, 3, 4]],
  ["...ij,...jk->...ik", [5, 1, 2, 3], [1, 2, 3, 4]],
  ["...ij,...jk", [2, 1, 2, 3], [1, 3, 3, 2]],
  ["i...,...->...i", [2, 3], [3]],
  ["...,...->...", [2, 1], [1, 3]],
  ["...i->...", [2, 3, 4]],
  ["...ii->i...", [2, 3, 3]],
  ["i...j->j...", [2, 3, 4]],
];

const SEVERAL: typeof EINSUMS = [
  ["ij,jk,kl->il", [2, 3], [3, 4], [4, 5]],
  ["ij,ik,il->jkl", [2, 3], [2, 4], [2, 2]],
  ["a,b,c,d->dbca", [2], [3], [2], [2]],
  ["i,i,i->i", [4], [4], [4]],
  ["i,i,i,i->", [4], [4], [4], [4]],
  ["...i,ij,j...->...", [2, 3], [3, 4], [4, 2]],
];

/** Sums without terms are 0; and results without elements. */
const WITHOUT: typeof EINSUMS = [
  ["ij,jk->ik", [2, 0], [0, 3]],
  ["ij,jk->ik", [0, 2], [2, 3]],
  ["bij,bjk->bik", [2, 3, 0], [2, 0, 4]],
  ["bij,bjk->bik", [0, 3, 2], [0, 2, 4]],
  ["i,i->", [0], [0]],
  ["ij->j", [0, 3]],
  ["ij->i", [0, 3]],
  ["ii->i", [0, 0]],
  ["ii->", [0, 0]],
  ["i,j->ij", [0], [3]],
  ["ij,jk,kl->il", [2, 3], [3, 0], [0, 5]],
  ["...ij,...jk->...ik", [0, 2, 3], [1, 3, 4]],
];

function einsums(
  random: RandomSource,
  dtype: DType,
  list: typeof EINSUMS,
  draw: Draw,
  exact = false,
): readonly OpSample<"Einsum">[] {
  return list.map(([equation, ...shapes]) => ({
    attributes: { equation },
    inputs: shapes.map((shape) => draw(random, dtype, shape)),
    exact,
  }));
}

/**
 * A row or a column of zeros by a matrix that holds NaN or an infinity, either way round: a product that skips zeros hides
 * the NaN that the finite check looks for.
 */
function zerosByNonFinite(dtype: DType): readonly (readonly [HostTensor, HostTensor])[] {
  return [true, false].flatMap((isRow) =>
    [Number.NaN, INFINITE].flatMap((value) => {
      const zeros = generated(dtype, [4, 4], (at) => {
        return (isRow ? Math.floor(at / 4) : at % 4) === 1 ? 0 : 1 + (at % 3);
      });
      const holder = generated(dtype, [4, 4], (at) => (at === 6 ? value : 1 - (at % 3)));
      return [[zeros, holder] as const, [holder, zeros] as const];
    }),
  );
}

export const matrixSamples: OpRows<OpOf<"matrix">> = {
  Einsum: {
    samples: (dtype, random) => {
      const whole = (list: typeof EINSUMS) => einsums(random, dtype, list, smallIntegers, true);
      const exactly = {
        "whole-numbers-are-exact": whole(EINSUMS),
        diagonals: whole(DIAGONALS),
        ellipses: whole(ELLIPSES),
        "several-operands": whole(SEVERAL),
        "no-elements": whole(WITHOUT),
      };
      if (!isFloat(dtype)) return exactly;
      return {
        values: einsums(random, dtype, EINSUMS, positives),
        "values-of-diagonals": einsums(random, dtype, DIAGONALS, positives),
        "values-of-ellipses": einsums(random, dtype, ELLIPSES, positives),
        "values-of-several-operands": einsums(random, dtype, SEVERAL, positives),
        ...exactly,
        "zeros-times-infinity": zerosByNonFinite(dtype).map((inputs) => ({
          attributes: { equation: "ij,jk->ik" },
          inputs,
        })),
        "non-finite-terms": [
          { attributes: { equation: "ij,jk->ik" }, inputs: nonFinite(dtype) },
          { attributes: { equation: "ij,jk->ki" }, inputs: nonFinite(dtype) },
          {
            attributes: { equation: "ij,ij->i" },
            inputs: nonFinite(dtype).flatMap((x) => (x.shape[0] === 5 ? [x, x] : [])),
          },
          { attributes: { equation: "ij->i" }, inputs: nonFinite(dtype).slice(0, 1) },
          // Beside the diagonal they are not read.
          {
            attributes: { equation: "ii->i" },
            inputs: [hostData(dtype, [1, Number.NaN, INFINITE, 2], [2, 2])],
          },
        ],
      };
    },
  },
  MatMul: {
    samples: (dtype, random) => ({
      values: PRODUCTS.map(([a, b]) => ({
        attributes: {},
        inputs: [positives(random, dtype, a), positives(random, dtype, b)],
      })),
      "whole-numbers-are-exact": PRODUCTS.map(([a, b]) => ({
        attributes: {},
        inputs: [smallIntegers(random, dtype, a), smallIntegers(random, dtype, b)],
        exact: true,
      })),
      "non-finite-terms": [{ attributes: {}, inputs: nonFinite(dtype) }],
      "zeros-times-infinity": zerosByNonFinite(dtype).map((inputs) => ({ attributes: {}, inputs })),
    }),
  },
  Gemm: {
    samples: (dtype, random) => ({
      values: gemms(random, dtype, positives, false),
      "whole-numbers-are-exact": gemms(random, dtype, smallIntegers, true),
      "non-finite-terms": [
        { attributes: gemm({}), inputs: nonFinite(dtype) },
        {
          attributes: gemm({}),
          inputs: [
            generated(dtype, [2, 3], () => 1),
            generated(dtype, [3, 2], () => 1),
            hostData(dtype, [Number.NaN, INFINITE], [2]),
          ],
        },
      ],
      "zeros-times-infinity": zerosByNonFinite(dtype).map((inputs) => ({ attributes: gemm({}), inputs })),
      // 0 · NaN is NaN: a factor of 0 may not skip the product.
      "factors-of-zero-keep-nan": [
        {
          attributes: gemm({ beta: 0 }),
          inputs: [
            generated(dtype, [2, 3], () => 1),
            generated(dtype, [3, 2], () => 1),
            hostData(dtype, [Number.NaN, INFINITE], [2]),
          ],
        },
        { attributes: gemm({ alpha: 0 }), inputs: nonFinite(dtype) },
        ...[Number.NaN, INFINITE].map((value) => ({
          attributes: gemm({ alpha: 0 }),
          inputs: [
            generated(dtype, [2, 3], () => 1),
            generated(dtype, [3, 2], (at) => (at === 1 ? value : 1)),
            generated(dtype, [2], () => 1),
          ],
        })),
        {
          attributes: gemm({ alpha: 0, beta: 0.5 }),
          inputs: [...nonFinite(dtype), hostData(dtype, [4, Number.NaN], [2])],
        },
      ],
      "no-inner-elements": [
        { attributes: gemm({}), inputs: [hostData(dtype, [], [2, 0]), hostData(dtype, [], [0, 3])] },
        ...[[3], [2, 3], [2, 1], []].map((c) => ({
          attributes: gemm({ beta: 0.5 }),
          inputs: [
            hostData(dtype, [], [2, 0]),
            hostData(dtype, [], [0, 3]),
            generated(dtype, c, (at) => at + 1),
          ],
          exact: true,
        })),
        {
          attributes: gemm({ transA: true, transB: true, alpha: 2 }),
          inputs: [hostData(dtype, [], [0, 2]), hostData(dtype, [], [3, 0]), hostData(dtype, [7], [1])],
          exact: true,
        },
      ],
    }),
  },
};
