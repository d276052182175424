import { describe, expect, it } from "vitest";
import {
  type GradientCase,
  gradientError,
  gradientSum,
  halfError,
  type Point,
  pointOf,
  positivePoint,
  titled,
  withoutCase,
} from "../../../test/finite-differences.js";
import type { Op } from "../../graph/attributes.js";
import * as e from "../../trace/ops/elementwise.js";
import type { Tensor } from "../../trace/tensor.js";
import { unaryGradients } from "./unary.js";

const unary = (
  op: Op,
  fn: (x: Tensor) => Tensor,
  make: (shape: readonly number[]) => Point = pointOf,
): readonly GradientCase[] => [[2, 3], [], [0, 3]].map((shape) => ({ op, fn, points: [make(shape)] }));

const cases: readonly GradientCase[] = [
  ...unary("Abs", e.abs),
  ...unary("Neg", e.neg),
  ...unary("Reciprocal", e.reciprocal, positivePoint),
  ...unary("Exp", e.exp),
  ...unary("Log", e.log, positivePoint),
  ...unary("Sqrt", e.sqrt, positivePoint),
  ...unary("Erf", e.erf),
  ...unary("Tanh", e.tanh),
  ...unary("Sigmoid", e.sigmoid),
  ...unary("Relu", e.relu),
  ...unary("Softplus", e.softplus),
  ...unary("Sin", e.sin),
  ...unary("Cos", e.cos),
  ...unary("LeakyRelu", (x) => e.leakyRelu(x, 0.2)),
  ...unary("LeakyRelu", (x) => e.leakyRelu(x, -0.2)),
  ...unary("Elu", (x) => e.elu(x, 0.7)),
  ...unary("Elu", (x) => e.elu(x, -0.7)),
  ...unary("Gelu", (x) => e.gelu(x)),
  ...unary("Gelu", (x) => e.gelu(x, { approximate: "tanh" })),
  ...unary("Clip", (x) => e.clip(x, { min: -0.5, max: 0.6 })),
  ...unary("Clip", (x) => e.clip(x, { min: -0.5 })),
  ...unary("Clip", (x) => e.clip(x, { max: 0.6 })),
  ...unary("Clip", (x) => e.clip(x, {})),
  ...unary("Identity", e.identity),
  ...unary("Cast", (x) => e.cast(e.cast(x, "f16"), "f32")),
  ...unary("Cast", (x) => e.cast(e.cast(x, "f8e4m3"), "f32")),
];

describe.each(titled(cases))("%s", (_, { fn, points }) => {
  it("agrees with finite differences", () => {
    expect(gradientError(fn, points)).toBeLessThan(2e-7);
  });
  it("stays in f16 and in bf16", () => {
    expect(halfError(fn, points, "f16")).toBeLessThan(2e-3);
    expect(halfError(fn, points, "bf16")).toBeLessThan(2e-2);
  });
});

describe.each(titled(cases.filter(({ second }) => second !== false)))("%s", (_, { fn, points }) => {
  it("has second derivatives that agree with finite differences", () => {
    expect(gradientError(gradientSum(fn), points)).toBeLessThan(1e-6);
  });
});

it("every rule of the family has a case", () => {
  expect(withoutCase(unaryGradients, cases)).toEqual([]);
});
