import type { DType, HostTensor, Shape } from "@mp/core";
import type { OpAttributes } from "@mp/core/graph";
import type { RandomSource } from "../random-source.js";
import { generated, hostData } from "./host-data.js";
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

export const matrixSamples: OpRows<"MatMul" | "Gemm"> = {
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
