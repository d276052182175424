import type { DType, HostTensor, OpAttributes, Shape } from "@mp/core";
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
  [[0, 3], [3, 2]],
  [[3, 2], [2, 0]],
]; // biome-ignore format: one pair a line

const INFINITE = Number.POSITIVE_INFINITY;

/** One row or column that is not finite among ones: it must spoil its own results and no others. */
function spoilt(dtype: DType): readonly HostTensor[] {
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

type Draw = (random: RandomSource, dtype: DType, shape: Shape) => HostTensor;

function gemms(random: RandomSource, dtype: DType, draw: Draw, exact: boolean): readonly OpSample<"Gemm">[] {
  const one = (attributes: Partial<OpAttributes["Gemm"]>, c?: Shape): OpSample<"Gemm"> => {
    const a = draw(random, dtype, attributes.transA === true ? [6, 5] : [5, 6]);
    const b = draw(random, dtype, attributes.transB === true ? [3, 6] : [6, 3]);
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
      "non-finite-terms": [{ attributes: {}, inputs: spoilt(dtype) }],
    }),
  },
  Gemm: {
    samples: (dtype, random) => ({
      values: gemms(random, dtype, positives, false),
      "whole-numbers-are-exact": gemms(random, dtype, smallIntegers, true),
      "non-finite-terms": [
        { attributes: gemm({}), inputs: spoilt(dtype) },
        {
          attributes: gemm({}),
          inputs: [
            generated(dtype, [2, 3], () => 1),
            generated(dtype, [3, 2], () => 1),
            hostData(dtype, [Number.NaN, INFINITE], [2]),
          ],
        },
      ],
    }),
  },
};
