/** Elementwise ops of one operand. */

import type { DType } from "@mp/core";
import {
  type ComputeDType,
  FAMILIES,
  isComputeFloat,
  type Op,
  type OpAttributes,
  type OpOf,
  rowsOf,
} from "@mp/core/graph";
import { generated, hostData, integerExtremes, randomData } from "../host-data.js";
import { farValues } from "./far-values.js";
import { counted, type OpRow, type OpRows, type OpSample, SHAPES } from "./op-sample.js";

const INTEGERS: Readonly<Partial<Record<DType, readonly number[]>>> = {
  i32: [0, 1, -1, 2, -7, 12345, -(2 ** 31) + 1, 2 ** 31 - 1],
  i64: [0, 1, -1, 2, -7, 2 ** 40, -(2 ** 52), 2 ** 53 - 1],
  u64: [0, 1, 2, 7, 2 ** 33, 2 ** 53 - 1],
  u8: [0, 1, 2, 7, 128, 255],
  bool: [0, 1, 1, 0],
};

type Values = (dtype: ComputeDType) => readonly number[];

/** Each end of an integer's range as a vector of many equal elements, as an engine's wide registers process them. */
function extremes<K extends Op>(
  dtype: DType,
  variants: readonly OpAttributes[K][],
): Readonly<Record<string, readonly OpSample<K>[]>> {
  const ends = integerExtremes[dtype];
  if (ends === undefined) return {};
  return {
    extremes: variants.flatMap((attributes) => [
      { attributes, inputs: [hostData(dtype, ends)] },
      ...ends.map((end) => ({ attributes, inputs: [generated(dtype, [19], () => end)] })),
    ]),
  };
}

/**
 * Attributes of `variants` over special values, random ones and shapes. `values` are the points at which the function
 * is tested.
 */
function row<K extends Op>(
  variants: readonly OpAttributes[K][],
  values: Values = farValues,
  range: readonly [low: number, high: number] = [-8, 8],
): OpRow<K> {
  return {
    samples: (dtype, random) => {
      const numbers = isComputeFloat(dtype) ? values(dtype) : (INTEGERS[dtype] ?? []);
      const special = hostData(dtype, numbers);
      const isNumber = isComputeFloat(dtype);
      return {
        values: variants.flatMap((attributes) => [
          { attributes, inputs: [special] },
          ...(isNumber ? [{ attributes, inputs: [randomData(random, dtype, [257], ...range)] }] : []),
        ]),
        shapes: SHAPES.map((shape) => ({
          attributes: variants[0] as OpAttributes[K],
          inputs: [isNumber ? randomData(random, dtype, shape, ...range) : counted(dtype, shape)],
        })),
        ...extremes<K>(dtype, variants),
      };
    },
  };
}

const plain = [{}] as const;
/** Without -infinity: x · Φ(x) is 0 · infinity there. */
const gaussian: Values = (dtype) => farValues(dtype).filter((x) => x !== Number.NEGATIVE_INFINITY);

export const unarySamples: OpRows<OpOf<"unary">> = {
  ...rowsOf(FAMILIES.unary, () => row<"Abs">(plain) as OpRow<never>),
  Log: row(plain, farValues, [0.01, 50]),
  Sqrt: row(plain, farValues, [0, 50]),
  LeakyRelu: row([{ alpha: 0.125 }, { alpha: 0.01 }, { alpha: -0.5 }]),
  Elu: row([{ alpha: 1 }, { alpha: 0.3 }]),
  Gelu: row([{ approximate: "none" }, { approximate: "tanh" }], gaussian),
  Clip: {
    samples: (dtype, random) => {
      const float = isComputeFloat(dtype);
      const limits = [{ min: 2, max: 5 }, { min: 3 }, { max: 3 }, {}, { min: 3, max: 3 }];
      const numbers = float ? farValues(dtype) : (INTEGERS[dtype] ?? []);
      return {
        values: limits.map((attributes) => ({ attributes, inputs: [hostData(dtype, numbers)] })),
        shapes: SHAPES.map((shape) => ({
          attributes: { min: 1, max: 6 },
          inputs: [float ? randomData(random, dtype, shape, -8, 8) : counted(dtype, shape)],
        })),
        ...extremes<"Clip">(dtype, limits),
        ...(float
          ? {
              // The limits are rounded to the dtype, as any number combined with a tensor is.
              "limits-are-rounded": [
                { attributes: { min: -0.1, max: 0.1 }, inputs: [randomData(random, dtype, [64], -1, 1)] },
              ],
            }
          : {}),
      };
    },
  },
  Identity: {
    samples: (dtype) => ({
      values: SHAPES.map((shape) => ({ attributes: {}, inputs: [counted(dtype, shape)] })),
    }),
  },
  /** Values have separate cases; here only shapes, with a target that every dtype converts to. */
  Cast: {
    samples: (dtype) => ({
      shapes: SHAPES.map((shape) => ({
        attributes: { to: dtype === "f32" ? ("i32" as const) : ("f32" as const) },
        inputs: [counted(dtype, shape)],
      })),
    }),
  },
};
