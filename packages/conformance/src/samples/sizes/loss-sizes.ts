import type { HostTensor, Shape } from "@mp/core";
import type { LossReduction, OpOf } from "@mp/core/graph";
import { generated } from "../../host-data.js";
import { sample } from "../op-sample.js";
import { ROWS, type SizeRow, type SizeRows, TALL, WIDE } from "./size-row.js";

/** At least one logit of 0 in every row. */
const peaked = (shape: Shape): HostTensor => {
  const classes = shape[1] ?? 1;
  return generated("f32", shape, (at) => {
    const [row, place] = [Math.floor(at / classes), at % classes];
    return place === (row * 7) % classes ? 0 : -200 + (place % 3);
  });
};

const labels = (count: number, classes: number): HostTensor =>
  generated("i32", [count], (at) => (at * 11) % classes);

/** Losses without reduction, and where sums are exact, their sum and mean. */
function loss<K extends OpOf<"loss">>(
  make: (shape: Shape) => HostTensor,
  reductions: readonly LossReduction[],
): SizeRow<K> {
  const samples = () =>
    [TALL, WIDE, ROWS].flatMap((shape) => {
      const [count = 0, classes = 0] = shape;
      return reductions.map((reduction) =>
        sample<OpOf<"loss">>({ reduction }, make(shape), labels(count, classes)),
      );
    });
  return samples as unknown as SizeRow<K>;
}

const negative = (shape: Shape): HostTensor => generated("f32", shape, (at) => -1 - (at % 7));

export const lossSizes: SizeRows<OpOf<"loss">> = {
  SoftmaxCrossEntropyLoss: loss(peaked, ["none"]),
  NegativeLogLikelihoodLoss: loss(negative, ["none", "sum", "mean"]),
};
