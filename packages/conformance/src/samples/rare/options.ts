/** Rare options, and two of them at once. */
import type { Shape } from "@mp/core";
import type { LossReduction, OpAttributes } from "@mp/core/graph";
import type { RandomSource } from "../../random-source.js";
import {
  type Convolved,
  conv,
  convTranspose,
  type Draw,
  type Make,
  weightGradient,
} from "../convolution-samples.js";
import { generated, hostData, randomData, specialValues } from "../host-data.js";
import { counted, type OpSample, positives, sample, smallIntegers } from "../op-sample.js";
import { HALVES_TOO, type RareRow, type RareRows, times } from "./rare-row.js";

const INFINITE = Number.POSITIVE_INFINITY;

/** Grouped, dilated along every axis, with strides and pads. */
function drawConvolution(random: RandomSource, rank: number): Convolved {
  const group = random.integer(2, 3);
  const [inputs, outputs] = [random.integer(1, 3), random.integer(1, 3)];
  const kernel = times(rank, () => random.integer(2, 3));
  const dilations = times(rank, () => random.integer(2, 3));
  const room = kernel.map((size, axis) => (size - 1) * (dilations[axis] ?? 1) + 1);
  const [strides, before, after] = [
    times(rank, () => random.integer(1, 2)),
    times(rank, () => random.integer(0, 1)),
    times(rank, () => random.integer(0, 1)),
  ];
  return {
    x: [random.integer(1, 2), group * inputs, ...room.map((size) => size + random.integer(0, 3))],
    w: [group * outputs, inputs, ...kernel],
    group,
    dilations,
    strides,
    pads: [...before, ...after],
  };
}

function convolution<K extends "Conv" | "ConvTranspose" | "ConvWeightGradient">(make: Make<K>): RareRow<K> {
  return {
    dtypes: HALVES_TOO,
    samples: (dtype, random) => {
      const draw: Draw = (type, shape) => smallIntegers(random, type, shape);
      const samples = [1, 2, 2, 2, 3].map((rank) => ({
        ...make(drawConvolution(random, rank), draw, dtype, false),
        exact: true,
      }));
      return { "dilated-in-groups": samples };
    },
  };
}

const pad: RareRow<"Pad"> = {
  dtypes: ["f32", "f16", "bf16"],
  samples: (dtype, random) => {
    const shape: Shape = [2, 3, 4, 3];
    const of = (pads: readonly number[], mode: OpAttributes["Pad"]["mode"], value = 0) =>
      sample<"Pad">({ pads, mode, value }, counted(dtype, shape));
    // Reflection is limited by the length of the axis.
    const within = (less: number): readonly number[] =>
      [...shape, ...shape].map((size) => random.integer(0, size - less));
    return {
      "reflect-over-four-axes": [
        of([1, 2, 3, 2, 1, 2, 3, 2], "reflect"),
        of([0, 0, 1, 1, 0, 0, 1, 1], "reflect"),
        ...times(4, () => of(within(1), "reflect")),
      ],
      "edge-over-four-axes": [of([3, 1, 5, 0, 0, 4, 1, 2], "edge"), ...times(4, () => of(within(0), "edge"))],
      "values-that-are-not-finite": [INFINITE, -INFINITE, Number.NaN, -0].map((value) =>
        of([0, 1, 0, 2, 1, 0, 0, 1], "constant", value),
      ),
    };
  },
};

const clip: RareRow<"Clip"> = {
  dtypes: HALVES_TOO,
  samples: (dtype) => {
    const limits = [
      { min: -INFINITE },
      { max: INFINITE },
      { min: -INFINITE, max: INFINITE },
      { min: 0, max: INFINITE },
      { min: -INFINITE, max: -1 },
      { min: INFINITE },
      { max: -INFINITE },
      { min: INFINITE, max: INFINITE },
    ];
    return {
      "infinite-limits": limits.map((attributes) =>
        sample<"Clip">(attributes, hostData(dtype, specialValues(dtype as "f32"))),
      ),
    };
  },
};

type LossOp = "SoftmaxCrossEntropyLoss" | "NegativeLogLikelihoodLoss";

/** Ignored labels in the middle of an image, inside and outside of the classes. */
function loss<K extends LossOp>(low: number, high: number): RareRow<K> {
  return {
    dtypes: HALVES_TOO,
    samples: (dtype, random) => {
      const of = (shape: Shape, ignoreIndex: number, reduction: LossReduction, weighted: boolean) => {
        const [batch = 1, classes = 1, ...rest] = shape;
        const labels = generated("i32", [batch, ...rest], (at) =>
          at % 3 === 1 ? ignoreIndex : random.integer(0, classes - 1),
        );
        const weights = weighted ? [positives(random, dtype, [classes])] : [];
        return sample<LossOp>(
          { reduction, ignoreIndex },
          randomData(random, dtype, shape, low, high),
          labels,
          ...weights,
        );
      };
      const samples = (["mean", "sum", "none"] as const).flatMap((reduction) => [
        of([2, 4, 3], 1, reduction, false),
        of([2, 3, 3, 4], -100, reduction, true),
        of([1, 3, 2, 2, 3], 2, reduction, true),
        of([2, 3, 4, 2], 255, reduction, false),
      ]);
      return { "ignored-labels-in-images": samples as unknown as readonly OpSample<K>[] };
    },
  };
}

/** NaN counts as larger than every number; equal elements, including zeros of either sign and NaN, keep their order. */
const topK: RareRow<"TopK"> = {
  dtypes: HALVES_TOO,
  samples: (dtype) => {
    const nan = Number.NaN;
    const rows = [
      [nan, 1, nan, 2, 1, -INFINITE, 2, nan, INFINITE],
      [0, -0, 0, -0, 1, -1, 0, 1, -1],
      [nan, nan, nan, nan, nan, nan, nan, nan, nan],
      [INFINITE, nan, INFINITE, -INFINITE, -INFINITE, nan, 3, 3, 3],
    ];
    const x = hostData(dtype, rows.flat(), [4, 9]);
    return {
      "nan-and-equals-either-way": [true, false].flatMap((largest) =>
        [1, 3, 5, 9].map((k) => sample<"TopK">({ axis: 1, k, largest }, x)),
      ),
      "nan-down-the-columns": [true, false].map((largest) => sample<"TopK">({ axis: 0, k: 3, largest }, x)),
    };
  },
};

/** The left tail of a function: small, and in halves no smaller than the smallest number that they hold. */
function leftTail<K extends "Sigmoid" | "Softplus" | "Elu">(attributes: OpAttributes[K]): RareRow<K> {
  return {
    dtypes: HALVES_TOO,
    samples: (dtype) => ({
      "small-results": [
        sample<K>(
          attributes,
          generated(dtype, [120], (at) => -3 - at / 8),
        ),
      ],
    }),
  };
}

function smallShares<K extends "Softmax" | "LogSoftmax">(): RareRow<K> {
  return {
    dtypes: HALVES_TOO,
    samples: (dtype) => {
      const far = dtype === "f16" ? 16 : 80;
      const rows = generated(
        dtype,
        [9, 7],
        (at) => -((at * 5) % 7) * (far / 7) * (1 + Math.floor(at / 7) / 9),
      );
      return {
        "small-results": [
          sample<"Softmax">({ axis: 1 }, rows) as OpSample<K>,
          sample<"Softmax">({ axis: 0 }, rows) as OpSample<K>,
        ],
      };
    },
  };
}

export const rareOptions: RareRows = {
  Conv: convolution<"Conv">(conv),
  ConvTranspose: convolution<"ConvTranspose">(convTranspose),
  ConvWeightGradient: convolution<"ConvWeightGradient">(weightGradient),
  Pad: pad,
  Clip: clip,
  SoftmaxCrossEntropyLoss: loss<"SoftmaxCrossEntropyLoss">(-4, 4),
  NegativeLogLikelihoodLoss: loss<"NegativeLogLikelihoodLoss">(-4, -0.1),
  TopK: topK,
  Sigmoid: leftTail<"Sigmoid">({}),
  Softplus: leftTail<"Softplus">({}),
  Elu: leftTail<"Elu">({ alpha: 1 }),
  Softmax: smallShares<"Softmax">(),
  LogSoftmax: smallShares<"LogSoftmax">(),
};
