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
import * as unaryOps from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import { unaryGradients } from "./unary.js";

const unary = (
  op: Op,
  fn: (x: Tensor) => Tensor,
  make: (shape: readonly number[]) => Point = pointOf,
): readonly GradientCase[] => [[2, 3], [], [0, 3]].map((shape) => ({ op, fn, points: [make(shape)] }));

const cases: readonly GradientCase[] = [
  ...unary("Abs", unaryOps.abs),
  ...unary("Neg", unaryOps.neg),
  ...unary("Reciprocal", unaryOps.reciprocal, positivePoint),
  ...unary("Exp", unaryOps.exp),
  ...unary("Log", unaryOps.log, positivePoint),
  ...unary("Sqrt", unaryOps.sqrt, positivePoint),
  ...unary("Erf", unaryOps.erf),
  ...unary("Tanh", unaryOps.tanh),
  ...unary("Sigmoid", unaryOps.sigmoid),
  ...unary("Relu", unaryOps.relu),
  ...unary("Softplus", unaryOps.softplus),
  ...unary("Sin", unaryOps.sin),
  ...unary("Cos", unaryOps.cos),
  ...unary("LeakyRelu", (x) => unaryOps.leakyRelu(x, 0.2)),
  ...unary("LeakyRelu", (x) => unaryOps.leakyRelu(x, -0.2)),
  ...unary("Elu", (x) => unaryOps.elu(x, 0.7)),
  ...unary("Elu", (x) => unaryOps.elu(x, -0.7)),
  ...unary("Gelu", (x) => unaryOps.gelu(x)),
  ...unary("Gelu", (x) => unaryOps.gelu(x, { approximate: "tanh" })),
  ...unary("Clip", (x) => unaryOps.clip(x, { min: -0.5, max: 0.6 })),
  ...unary("Clip", (x) => unaryOps.clip(x, { min: -0.5 })),
  ...unary("Clip", (x) => unaryOps.clip(x, { max: 0.6 })),
  ...unary("Clip", (x) => unaryOps.clip(x, {})),
  ...unary("Identity", unaryOps.identity),
  ...unary("Cast", (x) => unaryOps.cast(unaryOps.cast(x, "f16"), "f32")),
  ...unary("Cast", (x) => unaryOps.cast(unaryOps.cast(x, "f8e4m3"), "f32")),
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
