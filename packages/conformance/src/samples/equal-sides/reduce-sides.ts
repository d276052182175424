/** Operators along axes: reductions, searches, normalizations and losses. */

import type { DType, HostTensor, Shape } from "@mp/core";
import {
  type ArgOp,
  isFloat,
  type Op,
  type OpAttributes,
  type OpOf,
  REDUCE_OPS,
  type ReduceOp,
  rowsOf,
} from "@mp/core/graph";
import { generated, randomData } from "../../host-data.js";
import type { RandomSource } from "../../random-source.js";
import type { GeneratedRow, GeneratedRows } from "../generated-row.js";
import { positives, sample } from "../op-sample.js";
import { labelled, terms } from "../tails/tail-data.js";
import { AXES, CUBES, choices, cube } from "./side-data.js";

/** Every choice of axes of every rank. */
const EXTENTS = CUBES.flatMap((shape) =>
  choices(shape.map((_, axis) => axis)).map((axes) => [shape, axes] as const),
);

/** Reduces positive numbers, so that logarithms and means of all of them exist and nothing cancels. */
const reduction =
  <K extends ReduceOp>(): GeneratedRow<K> =>
  (dtype, random) => {
    const least = isFloat(dtype) ? -1 : 0;
    return EXTENTS.map(([shape, axes], at) =>
      sample<K>(
        { axes, keepdims: at % 2 === 0 } as unknown as OpAttributes[K],
        generated(dtype, shape, () => 2 ** random.integer(least, least + 2)),
      ),
    );
  };

const along =
  <K extends Op>(
    attributesOf: (axis: number, at: number) => OpAttributes[K],
    draw: (random: RandomSource, dtype: DType, shape: Shape) => HostTensor,
  ): GeneratedRow<K> =>
  (dtype, random) =>
    AXES.map(([shape, axis], at) => sample<K>(attributesOf(axis, at), draw(random, dtype, shape)));

const searched = <K extends ArgOp>(): GeneratedRow<K> =>
  along<K>((axis, at) => ({ axis, keepdims: at % 2 === 0 }) as OpAttributes[K], labelled);

export const reduceSides: GeneratedRows<OpOf<"reduce">> = {
  ...rowsOf(REDUCE_OPS, () => reduction<never>()),
  ArgMax: searched(),
  ArgMin: searched(),
  TopK: along((axis, at) => ({ axis, k: 1 + (at % 2), largest: at % 3 > 0 }), labelled),
  CumSum: along(
    (axis, at) => ({ axis, exclusive: at % 2 === 0, reverse: at % 3 === 0 }),
    (random, dtype, shape) => terms(random, dtype, shape),
  ),
};

const scores = (random: RandomSource, dtype: DType, shape: Shape): HostTensor =>
  randomData(random, dtype, shape, -4, 4);

/** A part of each shape from each axis on, and its forms that broadcast. */
const PARTS = CUBES.flatMap((shape) =>
  shape.flatMap((_, axis) => {
    const part = shape.slice(axis);
    const forms = [
      part,
      part.map((side, at) => (at === 0 ? 1 : side)),
      part.map((side, at) => (at === 0 ? side : 1)),
    ];
    return (part.length === 1 ? forms.slice(0, 1) : forms).map((form) => [shape, axis, form] as const);
  }),
);

export const normalizationSides: GeneratedRows<OpOf<"normalization">> = {
  Softmax: along((axis) => ({ axis }), scores),
  LogSoftmax: along((axis) => ({ axis }), scores),
  LayerNormalization: (dtype, random) =>
    PARTS.map(([shape, axis, part], at) =>
      sample<"LayerNormalization">(
        { axis, epsilon: 0.01 },
        randomData(random, dtype, shape),
        positives(random, dtype, part),
        ...(at % 2 === 0 ? [randomData(random, dtype, part)] : []),
      ),
    ),
  RMSNormalization: (dtype, random) =>
    PARTS.map(([shape, axis, part]) =>
      sample<"RMSNormalization">(
        { axis, epsilon: 0.01 },
        randomData(random, dtype, shape),
        positives(random, dtype, part),
      ),
    ),
};

const REDUCTIONS = ["none", "mean", "sum"] as const;

const loss =
  <K extends OpOf<"loss">>(low: number, high: number): GeneratedRow<K> =>
  (dtype, random) =>
    [2, 3, 4].flatMap((n) =>
      [2, 3, 4].flatMap((rank) =>
        REDUCTIONS.map((reduction) => {
          const labels = generated("i32", cube(n, rank - 1), () => random.integer(0, n - 1));
          const ignored = reduction === "mean" ? { ignoreIndex: -100 } : {};
          return sample<K>(
            { reduction, ...ignored } as OpAttributes[K],
            randomData(random, dtype, cube(n, rank), low, high),
            labels,
            ...(rank === 3 ? [] : [positives(random, dtype, [n])]),
          );
        }).filter((_, at) => rank < 4 || at === 0),
      ),
    );

export const lossSides: GeneratedRows<OpOf<"loss">> = {
  SoftmaxCrossEntropyLoss: loss(-4, 4),
  NegativeLogLikelihoodLoss: loss(-4, -0.1),
};
