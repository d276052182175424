import type { DType, HostTensor, Shape } from "@mp/core";
import { elementCount, type OpAttributes, type OpOf, type SoftmaxOp } from "@mp/core/graph";
import { generated, randomData } from "../../host-data.js";
import type { RandomSource } from "../../random-source.js";
import { statisticsOf } from "../batch-normalization-samples.js";
import type { GeneratedRow, GeneratedRows } from "../generated-row.js";
import { positives, sample } from "../op-sample.js";
import { formAt, lengthsOf, placed } from "./tail-data.js";

type Along = readonly [shape: Shape, axis: number];
const ALONG: readonly ((length: number) => Along)[] = [
  (n) => [[n], 0],
  (n) => [[n, 3], 0],
  (n) => [[3, n], 0],
  (n) => [[2, n, 3], 1],
]; // biome-ignore format: one form a line

/** The last of the first row is so large that exponentials overflow if the maximum leaves it out. */
function scores(random: RandomSource, dtype: DType, shape: Shape): HostTensor {
  const x = randomData(random, dtype, shape, -4, 4);
  return shape[0] === 3 && shape.length === 2 ? placed(x, 100, (shape[1] ?? 1) - 1) : x;
}

function softmax<K extends SoftmaxOp>(): GeneratedRow<K> {
  return (dtype, random) =>
    lengthsOf(dtype).flatMap((length) =>
      [[[3, length], 1] as const, formAt(ALONG, length)(length)].map(([shape, axis]) =>
        sample<K>({ axis } as OpAttributes[K], scores(random, dtype, shape)),
      ),
    );
}

/** Rows of that length, and blocks of 3 rows. */
const PARTS: readonly ((length: number) => Along)[] = [
  (n) => [[3, n], 1],
  (n) => [[2, 3, n], 1],
  (n) => [[2, n, 3], 1],
  (n) => [[2, 2, n], 2],
  (n) => [[n, 3], 1],
]; // biome-ignore format: one form a line

const partsOf = (dtype: DType): readonly Along[] =>
  lengthsOf(dtype).map((length) => formAt(PARTS, length)(length));

const plain = { epsilon: 1e-3 };

export const normalizationTails: GeneratedRows<OpOf<"normalization">> = {
  Softmax: softmax(),
  LogSoftmax: softmax(),
  LayerNormalization: (dtype, random) =>
    partsOf(dtype).map(([shape, axis], at) => {
      const part = shape.slice(axis);
      const bias = at % 3 === 0 ? [] : [randomData(random, dtype, part)];
      return sample<"LayerNormalization">(
        { axis, ...plain },
        randomData(random, dtype, shape),
        positives(random, dtype, part),
        ...bias,
      );
    }),
  RMSNormalization: (dtype, random) =>
    partsOf(dtype).map(([shape, axis]) =>
      sample<"RMSNormalization">(
        { axis, ...plain },
        randomData(random, dtype, shape),
        positives(random, dtype, shape.slice(axis)),
      ),
    ),
};

/** Many channels, many images, and long ones: at most 70 terms of mixed sign are summed. */
const CHANNELS: readonly ((length: number) => Shape)[] = [
  (n) => [4, n],
  (n) => [n, 3],
  (n) => [2, n, 3],
  (n) => [1, 2, n],
  (n) => [1, 3, n, 1],
  (n) => [2, n, 1, 2],
];

export const batchNormalizationTails: GeneratedRows<OpOf<"batch-normalization">> = {
  BatchNormalization: (dtype, random) =>
    lengthsOf(dtype).map((length) => {
      const shape = formAt(CHANNELS, length)(length);
      const channels = [shape[1] ?? 1];
      return sample<"BatchNormalization">(
        { epsilon: 0.01 },
        randomData(random, dtype, shape),
        positives(random, "f32", channels),
        randomData(random, "f32", channels),
      );
    }),
  BatchNormalizationGradient: (dtype, random) =>
    lengthsOf(dtype).map((length) => {
      const shape = formAt(CHANNELS, length)(length);
      const x = randomData(random, dtype, shape);
      return sample<"BatchNormalizationGradient">(
        { epsilon: 0.01 },
        randomData(random, dtype, shape),
        x,
        positives(random, "f32", [shape[1] ?? 1]),
        ...statisticsOf(x),
      );
    }),
};

/** Many classes, of which the last is a label, and many labels. */
const SCORES: readonly ((length: number) => Shape)[] = [
  (n) => [3, n],
  (n) => [n, 3],
  (n) => [2, n, 3],
  (n) => [2, 3, n],
  (n) => [2, 3, 2, n],
];

/**
 * One class far above all others, whose exponentials are lost next to it: the logarithms are these whole numbers, and
 * their sums are exact.
 */
function farApart(random: RandomSource, dtype: DType, shape: Shape): HostTensor {
  const [, classes = 1, ...rest] = shape;
  const inner = elementCount(rest, "test data");
  return generated(dtype, shape, (at) =>
    Math.floor(at / inner) % classes === 0 ? 0 : -100 - 4 * random.integer(0, 30),
  );
}

const quarters = (random: RandomSource, dtype: DType, shape: Shape): HostTensor =>
  generated(dtype, shape, () => random.integer(1, 5) / 4);

const REDUCTIONS = ["none", "mean", "sum"] as const;

function loss<K extends OpOf<"loss">>(low: number, high: number): GeneratedRow<K> {
  return (dtype, random) =>
    lengthsOf(dtype).flatMap((length) =>
      [[3, length], formAt(SCORES, length)(length)].map((shape, at) => {
        const [batch = 1, classes = 1, ...rest] = shape;
        const places = [batch, ...rest];
        const last = elementCount(places, "test data") - 1;
        const labels = generated("i32", places, (place) =>
          place === last ? classes - 1 : random.integer(0, classes - 1),
        );
        const weights = at === 0 ? [] : [quarters(random, dtype, [classes])];
        const scores =
          at === 0 ? randomData(random, dtype, shape, low, high) : farApart(random, dtype, shape);
        const attributes = { reduction: formAt(REDUCTIONS, length + at) } as OpAttributes[K];
        return sample<K>(attributes, scores, labels, ...weights);
      }),
    );
}

export const lossTails: GeneratedRows<OpOf<"loss">> = {
  SoftmaxCrossEntropyLoss: loss(-4, 4),
  NegativeLogLikelihoodLoss: loss(-4, -0.1),
};
