import type { HostTensor, Shape } from "@mp/core";
import type { LossReduction } from "@mp/core/graph";
import { generated } from "../host-data.js";
import { sample } from "../op-sample.js";
import { balanced, LONG, natural, ROWS, type SizeRow, type SizeRows, TALL, WIDE, whole } from "./size-row.js";

/** Their exponentials are 1 and 0, so that every sum of them is exact. */
const onesAndZeros = (shape: Shape): HostTensor => generated("f32", shape, (at) => (at % 5 < 2 ? 0 : -200));
/** At least one logit of 0 in every row. */
const peaked = (shape: Shape): HostTensor => {
  const classes = shape[1] ?? 1;
  return generated("f32", shape, (at) => {
    const [row, place] = [Math.floor(at / classes), at % classes];
    return place === (row * 7) % classes ? 0 : -200 + (place % 3);
  });
};

function alongAxis<K extends "Softmax" | "LogSoftmax">(): SizeRow<K> {
  const of = (axis: number, shape: Shape) => sample<"Softmax">({ axis }, onesAndZeros(shape));
  const samples = () => [of(0, LONG), of(0, TALL), of(1, TALL), of(1, WIDE), of(1, ROWS)];
  return samples as unknown as SizeRow<K>;
}

const labels = (count: number, classes: number): HostTensor =>
  generated("i32", [count], (at) => (at * 11) % classes);

type LossOp = "SoftmaxCrossEntropyLoss" | "NegativeLogLikelihoodLoss";

/** Losses without reduction, and where sums are exact, their sum and mean. */
function loss<K extends LossOp>(
  make: (shape: Shape) => HostTensor,
  reductions: readonly LossReduction[],
): SizeRow<K> {
  const samples = () =>
    [TALL, WIDE, ROWS].flatMap((shape) => {
      const [count = 0, classes = 0] = shape;
      return reductions.map((reduction) =>
        sample<LossOp>({ reduction }, make(shape), labels(count, classes)),
      );
    });
  return samples as unknown as SizeRow<K>;
}

const ones = (shape: Shape): HostTensor => generated("f32", shape, () => 1);
const negative = (shape: Shape): HostTensor => generated("f32", shape, (at) => -1 - (at % 7));

export const normalizationSizes: SizeRows<
  | "Softmax"
  | "LogSoftmax"
  | LossOp
  | "LayerNormalization"
  | "RMSNormalization"
  | "BatchNormalization"
  | "BatchNormalizationGradient"
> = {
  Softmax: alongAxis(),
  LogSoftmax: alongAxis(),
  SoftmaxCrossEntropyLoss: loss(peaked, ["none"]),
  NegativeLogLikelihoodLoss: loss(negative, ["none", "sum", "mean"]),
  LayerNormalization: () => {
    const of = (shape: Shape, part: Shape) =>
      sample<"LayerNormalization">(
        { axis: 1, epsilon: 1e-5 },
        balanced(shape, 1),
        natural(part),
        whole(part),
      );
    return [of(TALL, [18]), of(WIDE, [4_134]), of(ROWS, [2]), of([2, 33_002], [33_002])];
  },
  RMSNormalization: () => {
    const of = (shape: Shape, part: Shape) =>
      sample<"RMSNormalization">({ axis: 1, epsilon: 1e-5 }, natural(shape), natural(part));
    return [of(TALL, [18]), of(WIDE, [4_134]), of(ROWS, [2]), of([2, 33_002], [33_002])];
  },
  BatchNormalization: () => {
    const of = (shape: Shape, axis: number) => {
      const channels = [shape[1] ?? 1];
      return sample<"BatchNormalization">(
        { epsilon: 1e-5 },
        balanced(shape, axis),
        natural(channels),
        whole(channels),
      );
    };
    return [
      of([4_134, 17], 0),
      of([18, 4_134], 0),
      of([66_002, 2], 0),
      of([2, 3, 16_502], 2),
      of([2, 1_031, 40], 2),
    ];
  },
  BatchNormalizationGradient: () => {
    const of = (shape: Shape, axis: number) => {
      const channels = [shape[1] ?? 1];
      const x = balanced(shape, axis);
      return sample<"BatchNormalizationGradient">(
        { epsilon: 1e-5 },
        balanced(shape, axis),
        x,
        ones(channels),
        generated("f32", channels, () => 0),
        generated("f32", channels, () => 4),
      );
    };
    return [of([4_134, 17], 0), of([18, 4_134], 0), of([2, 3, 16_502], 2), of([2, 1_031, 40], 2)];
  },
};
