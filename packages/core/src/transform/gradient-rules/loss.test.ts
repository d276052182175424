import { describe, expect, it } from "vitest";
import {
  type GradientCase,
  gradientError,
  gradientSum,
  halfError,
  indices,
  pointOf,
  positivePoint,
  titled,
  withoutCase,
} from "../../../test/finite-differences.js";
import * as lossOps from "../../trace/ops/loss.js";
import type { Tensor } from "../../trace/tensor.js";
import { lossGradients } from "./loss.js";

const reductions = ["mean", "sum", "none"] as const;

function losses(
  reduction: (typeof reductions)[number],
  ignoreIndex: number | undefined,
  weighted: boolean,
  deep: boolean,
): readonly GradientCase[] {
  const options = { reduction, ...(ignoreIndex === undefined ? {} : { ignoreIndex }) };
  const labels = (): Tensor =>
    deep
      ? indices([0, 2, ignoreIndex ?? 1, 1, 0, ignoreIndex ?? 2], [3, 2])
      : indices([0, ignoreIndex ?? 2, 1]);
  const scores = pointOf(deep ? [3, 3, 2] : [3, 3], 6);
  const shared = {
    name: `${reduction}${ignoreIndex === undefined ? "" : ` ignoring ${ignoreIndex}`}`,
    points: weighted ? [scores, positivePoint([3], 7)] : [scores],
  };
  const using =
    (loss: typeof lossOps.softmaxCrossEntropyLoss): GradientCase["fn"] =>
    (x, weights) =>
      loss(x as Tensor, labels(), weights === undefined ? options : { ...options, weights });
  return [
    { op: "SoftmaxCrossEntropyLoss", ...shared, fn: using(lossOps.softmaxCrossEntropyLoss) },
    { op: "NegativeLogLikelihoodLoss", ...shared, fn: using(lossOps.negativeLogLikelihoodLoss) },
  ];
}

const cases: readonly GradientCase[] = [
  ...reductions.flatMap((reduction) =>
    [undefined, 2, -1, -100].flatMap((ignoreIndex) =>
      [false, true].flatMap((weighted) =>
        [false, true].flatMap((deep) => losses(reduction, ignoreIndex, weighted, deep)),
      ),
    ),
  ),
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
  expect(withoutCase(lossGradients, cases)).toEqual([]);
});
