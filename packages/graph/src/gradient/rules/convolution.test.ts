import { describe, expect, it } from "vitest";
import {
  type GradientCase,
  gradientError,
  gradientSum,
  halfError,
  pointOf,
  titled,
  withoutCase,
} from "../../../test/finite-differences.js";
import type { Shape } from "../../shape.js";
import { emit } from "../../trace/emit.js";
import {
  type ConvOptions,
  type ConvTransposeOptions,
  conv,
  convTranspose,
} from "../../trace/ops/convolution.js";
import type { Tensor } from "../../trace/tensor.js";
import { convolutionGradients } from "./convolution.js";

const convolved = (name: string, x: Shape, w: Shape, options: ConvOptions = {}): GradientCase => ({
  op: "Conv",
  name,
  fn: (image, weights, bias) =>
    conv(image as Tensor, weights as Tensor, bias === undefined ? options : { ...options, bias }),
  points: [pointOf(x, 1), pointOf(w, 2), ...(name.includes("bias") ? [pointOf(w.slice(0, 1), 3)] : [])],
});

const transposed = (
  name: string,
  x: Shape,
  w: Shape,
  options: ConvTransposeOptions = {},
  bias?: number,
): GradientCase => ({
  op: "ConvTranspose",
  name,
  fn: (image, weights, b) =>
    convTranspose(image as Tensor, weights as Tensor, b === undefined ? options : { ...options, bias: b }),
  points: [pointOf(x, 1), pointOf(w, 2), ...(bias === undefined ? [] : [pointOf([bias], 3)])],
});

const weightGradient: GradientCase = {
  op: "ConvWeightGradient",
  name: "with strides and groups",
  fn: (x, dy) =>
    emit("ConvWeightGradient", [x as Tensor, dy as Tensor], {
      strides: [2, 1],
      pads: [1, 0, 1, 1],
      dilations: [1, 2],
      group: 2,
      kernelShape: [3, 2],
    }),
  points: [pointOf([2, 4, 4, 5], 1), pointOf([2, 2, 2, 4], 2)],
};

const cases: readonly GradientCase[] = [
  convolved("of lines", [2, 3, 6], [2, 3, 3]),
  convolved("of images, with a bias", [2, 2, 4, 3], [3, 2, 2, 3], { pads: [1, 0, 0, 2] }),
  convolved("of volumes", [1, 2, 3, 3, 4], [2, 2, 2, 2, 1], { strides: [1, 2, 2] }),
  convolved("that leaves rows over", [1, 1, 8, 7], [2, 1, 3, 2], { strides: 3, pads: [1, 0, 0, 1] }),
  convolved("dilated, in groups", [1, 4, 6, 5], [2, 2, 2, 2], { dilations: [3, 2], group: 2 }),
  convolved("of each channel", [2, 3, 4, 4], [6, 1, 3, 3], { group: 3, autoPad: "same", strides: 2 }),
  convolved("under a kernel that is larger", [1, 2, 2, 2], [1, 2, 3, 4], { pads: [1, 1, 1, 2] }),
  transposed("of lines", [2, 3, 4], [3, 2, 3]),
  transposed("of images, with a bias", [2, 2, 3, 2], [2, 3, 2, 3], { pads: [0, 1, 1, 0] }, 3),
  transposed("of volumes", [1, 2, 2, 2, 3], [2, 1, 2, 1, 2], { strides: [2, 1, 2] }),
  transposed("with rows added", [1, 2, 3, 2], [2, 2, 3, 3], {
    strides: [2, 3],
    outputPadding: [1, 2],
    pads: 1,
  }),
  transposed("dilated, in groups", [1, 4, 3, 3], [4, 1, 2, 2], { dilations: [1, 2], group: 2 }, 2),
  transposed("of a kernel shorter than its stride", [1, 2, 3], [2, 1, 2], { strides: 4, autoPad: "same" }),
  weightGradient,
];

describe.each(titled(cases))("%s", (_, { fn, points }) => {
  it("agrees with finite differences", () => {
    expect(gradientError(fn, points)).toBeLessThan(2e-8);
  });
  it("has second derivatives that agree with finite differences", () => {
    expect(gradientError(gradientSum(fn), points)).toBeLessThan(2e-7);
  });
  it("stays in f16 and in bf16", () => {
    expect(halfError(fn, points, "f16")).toBeLessThan(2e-3);
    expect(halfError(fn, points, "bf16")).toBeLessThan(2e-2);
  });
});

it("every rule has a case", () => {
  expect(withoutCase(convolutionGradients, cases)).toEqual([]);
});
