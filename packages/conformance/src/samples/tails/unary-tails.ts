import type { DType, HostTensor } from "@mp/core";
import { isComputeFloat, type Op, type OpAttributes, type OpOf } from "@mp/core/graph";
import { generated } from "../../host-data.js";
import type { RandomSource } from "../../random-source.js";
import type { GeneratedRow, GeneratedRows } from "../generated-row.js";
import { sample } from "../op-sample.js";
import { drawn, endsInNan, formAt, labelled, lengthsOf, placed } from "./tail-data.js";

type Vector = (random: RandomSource, dtype: DType, length: number) => HostTensor;

/** Floats between the limits, the last of some lengths NaN; whole numbers of any size that all integers hold. */
const between =
  (low: number, high: number): Vector =>
  (random, dtype, length) => {
    const x = drawn(random, dtype, [length], isComputeFloat(dtype) ? [low, high] : [-100, 100]);
    return endsInNan(dtype, length) ? placed(x, Number.NaN, length - 1) : x;
  };

function row<K extends Op>(
  vector: Vector,
  attributes: readonly OpAttributes[K][] = [{} as OpAttributes[K]],
  first: DType = "f32",
): GeneratedRow<K> {
  return (dtype, random) =>
    lengthsOf(dtype, first).map((length) =>
      sample<K>(formAt(attributes, length), vector(random, dtype, length)),
    );
}

/** Each element is the special value or 1, at random. */
const speckled =
  (...special: readonly number[]): Vector =>
  (random, dtype, length) =>
    generated(dtype, [length], () =>
      random.next() < 0.5 ? 1 : (special[random.integer(0, special.length - 1)] ?? 1),
    );

export const unaryTails: GeneratedRows<Exclude<OpOf<"unary">, "Cast">> = {
  Abs: row(between(-8, 8)),
  Neg: row(between(-8, 8)),
  Sign: row(between(-8, 8)),
  Floor: row(between(-100, 100)),
  Ceil: row(between(-100, 100)),
  Round: row(between(-100, 100)),
  Reciprocal: row(between(0.25, 4)),
  Exp: row(between(-3, 3)),
  Log: row(between(0.01, 50)),
  Sqrt: row(between(0.01, 50)),
  Erf: row(between(-1.5, 1.5)),
  Tanh: row(between(-1.5, 1.5)),
  Sigmoid: row(between(-4, 4)),
  Relu: row(between(-4, 8)),
  Softplus: row(between(-4, 4)),
  Sin: row(between(-8, 8)),
  Cos: row(between(-8, 8)),
  LeakyRelu: row(between(-8, 8), [{ alpha: 0.125 }, { alpha: -0.5 }]),
  Elu: row(between(-3, 3), [{ alpha: 1 }, { alpha: 0.3 }]),
  Gelu: row(between(-3, 3), [{ approximate: "none" }, { approximate: "tanh" }]),
  Clip: row(between(-8, 8), [{ min: 1, max: 6 }, { min: 2 }, { max: 5 }]),
  Not: row((random, _, length) => labelled(random, "bool", [length]), [{}], "bool"),
  IsNaN: row(speckled(Number.NaN)),
  IsInf: row(speckled(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY)),
  Identity: row((random, dtype, length) => labelled(random, dtype, [length])),
};
