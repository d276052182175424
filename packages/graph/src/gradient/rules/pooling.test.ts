import { expect, it } from "vitest";
import { type GradientCase, gradientError, gradientSum, pointOf } from "../../../test/finite-differences.js";
import { testGradients } from "../../../test/gradient-tests.js";
import { runTraced } from "../../../test/run-traced.js";
import { tensor } from "../../host/host-tensor.js";
import type { Shape } from "../../shape.js";
import {
  averagePool,
  globalAveragePool,
  globalMaxPool,
  maxPool,
  type PoolKernel,
  type PoolOptions,
} from "../../trace/ops/pooling.js";
import { reduceSum } from "../../trace/ops/reduce.js";
import type { Tensor } from "../../trace/tensor.js";
import { grad } from "../grad.js";
import { poolingGradients } from "./pooling.js";

type Window = readonly [shape: Shape, kernel: PoolKernel, options: PoolOptions];
const windows: readonly Window[] = [
  [[2, 2, 4, 6], 2, {}],
  [[1, 2, 7, 5], 3, { strides: 2, pads: 1 }],
  [[1, 2, 7, 5], [3, 2], { strides: [3, 2], pads: [1, 0, 1, 0], ceilMode: true }],
  [[1, 3, 9], 2, { strides: 4, pads: [1, 0] }],
  [[1, 2, 7, 8], [3, 2], { strides: 1, pads: 1, dilations: [2, 3] }],
  [[1, 2, 4, 3, 5], 2, { strides: [2, 1, 2] }],
  [[2, 1, 3], 1, {}],
];

const cases: readonly GradientCase[] = windows.flatMap(
  ([shape, kernel, options]): readonly GradientCase[] => {
    const name = JSON.stringify([kernel, options]);
    const points = [pointOf(shape)];
    return [
      { op: "MaxPool", name, fn: (x) => maxPool(x as Tensor, kernel, options), points, second: false },
      ...[false, true].map(
        (countIncludePad): GradientCase => ({
          op: "AveragePool",
          name: countIncludePad ? `${name} padding counted` : name,
          fn: (x) => averagePool(x as Tensor, kernel, { ...options, countIncludePad }),
          points,
        }),
      ),
    ];
  },
);

testGradients(poolingGradients, cases);

it("refuses a second derivative through a maximum", () => {
  const [{ fn, points }] = cases as readonly [GradientCase];
  expect(() => gradientError(gradientSum(fn), points)).toThrow(/second derivatives through a maximum pool/);
});

it("gives the gradient to the first of equals, once a window", () => {
  const x = tensor(Float32Array.of(1, 1, 1, 1, 1, 0, 0, 1, 1), [1, 1, 3, 3]);
  const { dx } = runTraced({ x }, (inputs) => ({
    dx: grad((t: Tensor) => reduceSum(maxPool(t, 2, { strides: 1 })))(inputs.x as Tensor),
  }));
  expect(Array.from(dx.data as Float32Array)).toEqual([1, 1, 0, 1, 1, 0, 0, 0, 0]);
});

it("pools all there is", () => {
  const x = tensor(
    Float32Array.from({ length: 12 }, (_, at) => at),
    [1, 2, 2, 3],
  );
  const { mean, most } = runTraced({ x }, (inputs) => ({
    mean: globalAveragePool(inputs.x as Tensor),
    most: globalMaxPool(inputs.x as Tensor, { keepdims: true }),
  }));
  expect([mean.shape, Array.from(mean.data as Float32Array)]).toEqual([
    [1, 2],
    [2.5, 8.5],
  ]);
  expect([most.shape, Array.from(most.data as Float32Array)]).toEqual([
    [1, 2, 1, 1],
    [5, 11],
  ]);
});

it("refuses windows that are none", () => {
  const x = tensor(new Float32Array(16), [1, 1, 4, 4]);
  const pooled = (kernel: PoolKernel, options: PoolOptions = {}) =>
    runTraced({ x }, (inputs) => ({ y: maxPool(inputs.x as Tensor, kernel, options) }));
  expect(() => pooled(5)).toThrow(/a window of \[5, 5\] does not fit into \[4, 4\]/);
  expect(() => pooled(2, { pads: 2 })).toThrow(/leave windows of \[2, 2\] with nothing in them/);
  expect(() => pooled(2, { strides: 0 })).toThrow(/strides must be 2 integers ≥ 1, got \[0, 0\]/);
  expect(() => pooled([2, 2, 2])).toThrow(/kernelShape must be 2 integers/);
  expect(() => pooled(2, { stride: 1 } as never)).toThrow(/strides/);
});
