import { type GradientCase, indices, pointOf, positivePoint } from "../../../test/finite-differences.js";
import { testGradients } from "../../../test/gradient-tests.js";
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

testGradients(lossGradients, cases);
