/** Operands that lack an axis, or have 1 there: each axis alone, and one on the left with another on the right. */
import type { DType, HostTensor, Shape } from "@mp/core";
import { elementCount, FAMILIES, type Op, type OpAttributes, type OpOf, rowsOf } from "@mp/core/graph";
import type { RandomSource } from "../../random-source.js";
import { type OpRow, type OpRows, positives, smallIntegers } from "../op-sample.js";
import { flattened, naturals, SHAPES, scattered } from "./axis-row.js";

/** Pairs of shapes that broadcast to that one. */
function partsOf(whole: Shape): readonly (readonly [Shape, Shape])[] {
  const axes = whole.map((_, axis) => axis);
  const alone = axes.map((axis): Shape => flattened(whole, [axis]));
  const missing = axes.map((axis): Shape => whole.slice(axis + 1));
  return [
    ...[...alone, ...missing].flatMap((part) => [[part, whole] as const, [whole, part] as const]),
    ...alone.flatMap((left, at) =>
      alone.flatMap((right, other) => (at === other ? [] : [[left, right] as const])),
    ),
    // Each has every second axis.
    [
      flattened(
        whole,
        axes.filter((axis) => axis % 2 === 0),
      ),
      flattened(
        whole,
        axes.filter((axis) => axis % 2 === 1),
      ),
    ],
  ];
}

const PARTS = SHAPES.flatMap(partsOf);

type Draw = (random: RandomSource, dtype: DType, shape: Shape) => HostTensor;

function binary<K extends Op>(
  attributes: (dtype: DType) => OpAttributes[K],
  left: Draw,
  right: Draw,
): OpRow<K> {
  return {
    samples: (dtype, random) => ({
      "every-axis": PARTS.map(([a, b]) => ({
        attributes: attributes(dtype),
        inputs: [left(random, dtype, a), right(random, dtype, b)],
      })),
    }),
  };
}

const plain = () => ({});
const whole = <K extends Op>(): OpRow<K> => binary<K>(plain as never, smallIntegers, naturals);
const logical = <K extends Op>(): OpRow<K> => binary<K>(plain as never, scattered, scattered);

/** Products of batches that broadcast in the same ways. */
const matMul: OpRow<"MatMul"> = {
  samples: (dtype, random) => ({
    "every-axis": SHAPES.slice(0, 3)
      .flatMap(partsOf)
      .map(([a, b]) => ({
        attributes: {},
        inputs: [smallIntegers(random, dtype, [...a, 2, 5]), smallIntegers(random, dtype, [...b, 5, 3])],
        exact: true,
      })),
    vectors: SHAPES.filter(({ length }) => length > 1).flatMap((shape) => {
      const [rows = 1, inner = 1] = shape.slice(-2);
      return [
        { attributes: {}, inputs: [shape, [inner]].map((size) => smallIntegers(random, dtype, size)) },
        { attributes: {}, inputs: [[rows], shape].map((size) => smallIntegers(random, dtype, size)) },
      ];
    }),
  }),
};

const where: OpRow<"Where"> = {
  samples: (dtype, random) => ({
    "every-axis": PARTS.map(([a, b], index) => {
      const full = elementCount(a, "test data") > elementCount(b, "test data") ? a : b;
      const orders = [[a, b, full], [a, full, b], [full, a, b]]; // biome-ignore format: one line
      const [condition = [], x = [], y = []] = orders[index % 3] ?? [];
      return {
        attributes: {},
        inputs: [
          scattered(random, "bool", condition),
          scattered(random, dtype, x),
          scattered(random, dtype, y),
        ],
      };
    }),
  }),
};

export const binaryAxes: OpRows<OpOf<"binary"> | "MatMul"> = {
  ...rowsOf(FAMILIES.binary, () => whole<never>()),
  Pow: binary(plain, positives, naturals),
  Mod: binary((dtype) => ({ fmod: !["i32", "i64", "u8"].includes(dtype) }), smallIntegers, naturals),
  And: logical(),
  Or: logical(),
  Xor: logical(),
  Where: where,
  MatMul: matMul,
};
