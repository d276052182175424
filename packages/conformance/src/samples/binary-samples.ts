/** Elementwise ops of two operands, and Where. */

import type { DType, HostTensor, Shape } from "@mp/core";
import {
  type ComputeDType,
  FAMILIES,
  isComputeFloat,
  type Op,
  type OpAttributes,
  type OpOf,
  rowsOf,
} from "@mp/core/graph";
import { generated, hostData, integerExtremes, randomData, specialValues } from "../host-data.js";
import { counted, type OpRow, type OpRows, type OpSample } from "./op-sample.js";

/** Operand shapes that broadcast, in either order, with scalars and empty axes. */
const BROADCASTS: readonly (readonly [Shape, Shape])[] = [
  [[2, 3], [2, 3]],
  [[], []],
  [[4, 5], []],
  [[], [4, 5]],
  [[4, 5], [5]],
  [[4, 1], [1, 5]],
  [[2, 1, 3, 1], [4, 1, 5]],
  [[3], [2, 1, 3]],
  [[0], [1]],
  [[2, 0, 3], [3]],
  [[1031], [1031]],
]; // biome-ignore format: one pair a line

const INTEGER_PAIRS: Readonly<Partial<Record<DType, readonly number[]>>> = {
  i32: [-(2 ** 31) + 1, -7, -3, -1, 1, 2, 3, 7, 2 ** 31 - 1],
  i64: [-(2 ** 52), -7, -3, -1, 1, 2, 3, 7, 2 ** 53 - 1],
  u64: [1, 2, 3, 7, 2 ** 33, 2 ** 53 - 1],
  u8: [1, 2, 3, 7, 128, 255],
  bool: [0, 1],
};

const FAR = [
  2047,
  65504,
  65520,
  1e5,
  2 ** 23 - 1,
  2 ** 23 + 1,
  2 ** 24 + 2,
  2 ** 31,
  2 ** 63,
  1e30,
  1e-10,
  88,
  104,
];

/** Numbers that arithmetic often gets wrong, and far ones. */
const farNumbers = (dtype: ComputeDType): readonly number[] => [
  ...specialValues(dtype),
  ...FAR,
  ...FAR.map((x) => -x),
];

/** Every value against every other. */
function pairs<N extends number | bigint>(
  values: readonly N[],
  others: readonly N[] = values,
): readonly (readonly N[])[] {
  return [values.flatMap((a) => others.map(() => a)), values.flatMap(() => others)];
}

/** Every extreme against every other in one vector, and enough equal ones to fill registers against a scalar. */
function extremes<K extends Op>(
  dtype: DType,
  attributes: OpAttributes[K],
  withZero: boolean,
): Readonly<Record<string, readonly OpSample<K>[]>> {
  const ends = integerExtremes[dtype];
  if (ends === undefined) return {};
  const divisors = ends.filter((end) => withZero || end !== 0n);
  const [a = [], b = []] = pairs(ends, divisors);
  const lone = divisors.filter((end) => end === 5n || end === -1n || end === ends[0]);
  const scalar = (value: bigint): HostTensor => hostData(dtype, [value], []);
  const equal = (value: bigint): HostTensor => generated(dtype, [70], () => value);
  return {
    extremes: [
      { attributes, inputs: [hostData(dtype, a), hostData(dtype, b)] },
      ...lone.flatMap((one) =>
        divisors.flatMap((end) => [
          { attributes, inputs: [equal(end), scalar(one)] },
          { attributes, inputs: [scalar(one), equal(end)] },
        ]),
      ),
    ],
  };
}

interface RowOptions {
  readonly values?: readonly number[];
  readonly others?: readonly number[];
  readonly range?: readonly [number, number];
  /** Include zeros for integers, where the op does not divide by them. */
  readonly withZero?: boolean;
}

function row<K extends Op>(attributes: OpAttributes[K], options: RowOptions = {}): OpRow<K> {
  const { range = [-8, 8], withZero = true } = options;
  return {
    samples: (dtype, random) => {
      const float = isComputeFloat(dtype);
      const integers = [...(withZero && dtype !== "bool" ? [0] : []), ...(INTEGER_PAIRS[dtype] ?? [])];
      const values = float ? (options.values ?? farNumbers(dtype)) : integers;
      const [a = [], b = []] = pairs(values, float ? options.others : undefined);
      const operand = (shape: Shape, offset: number): ReturnType<typeof hostData> => {
        if (float) return randomData(random, dtype, shape, ...range);
        // Between 1 and 5, never 0: integer division by 0 is an error.
        return dtype === "bool"
          ? counted(dtype, shape, offset)
          : generated(dtype, shape, (place) => 1 + ((place + offset) % 5));
      };
      return {
        values: [{ attributes, inputs: [hostData(dtype, a), hostData(dtype, b)] }],
        broadcasting: BROADCASTS.map(([left, right]) => ({
          attributes,
          inputs: [operand(left, 0), operand(right, 2)],
        })),
        ...extremes<K>(dtype, attributes, withZero),
      };
    },
  };
}

const plain = {};
const INFINITE = Number.POSITIVE_INFINITY;

const bases = [
  -INFINITE,
  -1e5,
  -65504,
  -3,
  -1,
  -0.5,
  -0,
  0,
  0.5,
  1,
  1.5,
  3,
  10,
  65504,
  1e5,
  INFINITE,
  Number.NaN,
];
const powers = [-INFINITE, -100, -2, -1, -0.5, -0, 0, 0.5, 1, 2, 3, 100, INFINITE, Number.NaN];
const dividends = [-65504, -20, -7.5, -3, -0, 0, 0.25, 3, 7.5, 20, 1e5, 2 ** 24 + 2, INFINITE, Number.NaN];
const divisors = [-INFINITE, -3, -0.5, 0, 0.5, 2.5, 3, 7, INFINITE, Number.NaN];

const byDividend = row<"Mod">({ fmod: true }, { values: dividends, others: divisors });
const byDivisor = row<"Mod">({ fmod: false }, { withZero: false });

export const binarySamples: OpRows<OpOf<"binary">> = {
  ...rowsOf(FAMILIES.binary, () => row<"Add">(plain) as OpRow<never>),
  Div: row(plain, { withZero: false }),
  Pow: row(plain, { values: bases, others: powers, range: [0.25, 3] }),
  Mod: {
    samples: (dtype, random) => (isComputeFloat(dtype) ? byDividend : byDivisor).samples(dtype, random),
  },
  Where: {
    dtypes: ["f32", "f16", "bf16", "f8e4m3", "f8e5m2", "bool", "i32", "i64", "u64", "u8"],
    samples: (dtype) => {
      const condition = (shape: Shape): ReturnType<typeof hostData> => counted("bool", shape);
      const values = isComputeFloat(dtype)
        ? [
            {
              attributes: {},
              inputs: [
                counted("bool", [specialValues(dtype).length]),
                hostData(dtype, specialValues(dtype)),
                hostData(dtype, [...specialValues(dtype)].reverse()),
              ],
            },
          ]
        : [{ attributes: {}, inputs: [condition([9]), counted(dtype, [9]), counted(dtype, [9], 4)] }];
      const ends = integerExtremes[dtype] ?? [];
      const shapes: readonly (readonly [Shape, Shape, Shape])[] = [
        [[2, 3], [2, 3], [2, 3]],
        [[], [2, 3], [2, 3]],
        [[3], [2, 1], []],
        [[2, 1, 1], [4, 1], [1, 5]],
        [[0, 3], [3], []],
        [[], [], []],
      ]; // biome-ignore format: one triple a line
      return {
        values,
        broadcasting: shapes.map(([c, x, y]) => ({
          attributes: {},
          inputs: [condition(c), counted(dtype, x), counted(dtype, y, 5)],
        })),
        ...(ends.length === 0
          ? {}
          : {
              extremes: [
                {
                  attributes: {},
                  inputs: [
                    condition([ends.length]),
                    hostData(dtype, ends),
                    hostData(dtype, [...ends].reverse()),
                  ],
                },
              ],
            }),
      };
    },
  },
};
