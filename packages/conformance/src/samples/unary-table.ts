/** Elementwise operators of one operand. */
import {
  type ComputeDType,
  DTYPES,
  type DType,
  elementCount,
  type HostTensor,
  isComputeFloat,
  isEighth,
  isFloat,
  type Op,
  type OpAttributes,
  type OpOf,
  type Shape,
} from "@mp/graph";
import * as ops from "@mp/graph/ops";
import { drawSome } from "../draw-some.js";
import { type Draws, generate, hostData, integerExtremes, randomData, specialValues } from "../host-data.js";
import { anyElements } from "./axis-data.js";
import { farCast } from "./far-rows.js";
import { farValues } from "./far-values.js";
import {
  type GradientSample,
  type Gradients,
  gradient,
  type Point,
  PREDICATE,
  pointAt,
  positivePoint,
  STEPS,
  spread,
  twice,
  type Unary,
} from "./gradient-sample.js";
import type { CommonRow, GeneratedRow, OpTable, SizeRow } from "./op-row.js";
import { countUp, type OpSample, type Sampled, SHAPES, sample } from "./op-sample.js";
import type { RareRow } from "./rare-row.js";
import { setting } from "./setting.js";
import { bools, counting, LONG, positiveSized, smooth, TALL } from "./size-data.js";
import { leftTail } from "./small-results.js";
import { chooseSubnormals, moveSubnormals } from "./subnormals.js";
import { drawBetween, endsInNan, formAt, label, lengths, setElements } from "./tail-data.js";

const INTEGERS: Readonly<Partial<Record<DType, readonly number[]>>> = {
  i32: [0, 1, -1, 2, -7, 12345, -(2 ** 31) + 1, 2 ** 31 - 1],
  i64: [0, 1, -1, 2, -7, 2 ** 40, -(2 ** 52), 2 ** 53 - 1],
  u64: [0, 1, 2, 7, 2 ** 33, 2 ** 53 - 1],
  u8: [0, 1, 2, 7, 128, 255],
  bool: [0, 1, 1, 0],
};

type Values = (dtype: ComputeDType) => readonly number[];

/** All extremes of an integer dtype in a vector, and vectors that repeat one extreme, for engines' wide registers. */
function extremes<K extends Op>(
  dtype: DType,
  variants: readonly OpAttributes[K][],
): Readonly<Record<string, readonly OpSample<K>[]>> {
  const ends = integerExtremes[dtype];
  if (ends === undefined) return {};
  return {
    extremes: variants.flatMap((attributes) => [
      sample(attributes, hostData(dtype, ends)),
      ...ends.map((end) =>
        sample(
          attributes,
          generate(dtype, [19], () => end),
        ),
      ),
    ]),
  };
}

/**
 * Samples with each of `variants` as attributes, over special values, random values and shapes. `values` are the
 * points at which the function is tested.
 */
function unaryValues<K extends Op>(
  variants: readonly OpAttributes[K][],
  values: Values = farValues,
  range: readonly [low: number, high: number] = [-8, 8],
): Sampled<K> {
  return (draws) => {
    const numbers = isComputeFloat(draws.dtype) ? values(draws.dtype) : (INTEGERS[draws.dtype] ?? []);
    const special = hostData(draws.dtype, numbers);
    const isNumber = isComputeFloat(draws.dtype);
    return {
      values: variants.flatMap((attributes) => [
        sample(attributes, special),
        ...(isNumber ? [sample(attributes, randomData(draws, [257], ...range))] : []),
        ...drawSome(draws.random, numbers, 3).map((number) =>
          sample(attributes, hostData(draws.dtype, [number])),
        ),
      ]),
      shapes: SHAPES.map((shape) =>
        sample(
          variants[0] as OpAttributes[K],
          isNumber ? randomData(draws, shape, ...range) : countUp(draws.dtype, shape),
        ),
      ),
      ...extremes<K>(draws.dtype, variants),
    };
  };
}

const PLAIN = [{}] as const;

/** The far values without -infinity, where x · Φ(x) is 0 · infinity. */
const gaussian: Values = (dtype) => farValues(dtype).filter((x) => x !== Number.NEGATIVE_INFINITY);

type Vector = (draws: Draws, length: number) => HostTensor;

/** Floats between the limits, with NaN at the end of some lengths, or integers that all integer dtypes hold. */
const between =
  (low: number, high: number): Vector =>
  (draws, length) => {
    const x = drawBetween(draws, [length], isComputeFloat(draws.dtype) ? [low, high] : [-100, 100]);
    return endsInNan(draws.dtype, length) ? setElements(x, Number.NaN, length - 1) : x;
  };

function unaryTail<K extends Op>(
  vector: Vector,
  attributes: readonly OpAttributes[K][] = [{} as OpAttributes[K]],
  first: DType = "f32",
): GeneratedRow<K> {
  return (draws) =>
    lengths(draws.dtype, first).map((length) => sample<K>(formAt(attributes, length), vector(draws, length)));
}

/** Elements that are 1 or a special value, at random. */
const speckle =
  (...special: readonly number[]): Vector =>
  (draws, length) =>
    generate(draws.dtype, [length], () =>
      draws.random.next() < 0.5 ? 1 : (special[draws.random.integer(0, special.length - 1)] ?? 1),
    );

function unarySizes<K extends Op>(
  attributes: OpAttributes[K],
  make: (shape: Shape) => HostTensor = smooth,
): SizeRow<K> {
  return () => [sample<K>(attributes, make(LONG)), sample<K>(attributes, make(TALL))];
}

const plain = {};

/** Numbers with some NaN and infinities, also as the last elements. */
const nonFinite = (shape: Shape): HostTensor => {
  const size = elementCount(shape, "test data");
  return generate("f32", shape, (at) =>
    at % 1_009 === 5 || at === size - 1
      ? Number.NaN
      : at % 1_013 === 7 || at === size - 2
        ? Number.NEGATIVE_INFINITY
        : at,
  );
};

const INFINITE = Number.POSITIVE_INFINITY;

/** Numbers from -5 to 5 in steps of 1/8. */
const ramp = (dtype: DType) => generate(dtype, [81], (at) => at / 8 - 5);

/** Limits of Clip: missing, of one sign, equal, infinite. */
const limits = (dtype: DType) =>
  isFloat(dtype)
    ? { min: [undefined, -2, 0, 1, -INFINITE, INFINITE], max: [undefined, 3, 1, 0, INFINITE, -INFINITE] }
    : { min: [undefined, 2, 0, 1], max: [undefined, 3, 2, 0] };

const unaryGradients = (
  fn: Unary,
  point: (shape: readonly number[]) => Point = spread,
): readonly GradientSample[] => [
  gradient("matrix", [point([3, 4])], fn),
  gradient("scalar", [point([])], fn),
];

interface UnaryOptions<K extends Op> {
  readonly sized?: (shape: Shape) => HostTensor;
  readonly range?: readonly [low: number, high: number];
  readonly rare?: readonly RareRow<K>[];
}

/** The row of an op without attributes. */
const of = <K extends Op>(
  vector: Vector,
  gradients: Gradients,
  { sized = smooth, range, rare = [] }: UnaryOptions<K> = {},
): CommonRow<K> & { readonly tails: GeneratedRow<K> } => ({
  samples: unaryValues<K>([plain as OpAttributes[K]], farValues, range),
  tails: unaryTail(vector),
  sizes: unarySizes<K>(plain as OpAttributes[K], sized),
  gradients,
  rare,
});

export const unaryTable: OpTable<OpOf<"unary">> = {
  Abs: of(between(-8, 8), unaryGradients(ops.abs), { rare: [chooseSubnormals({})] }),
  Neg: of(between(-8, 8), unaryGradients(ops.neg), { rare: [chooseSubnormals({})] }),
  Sign: of(between(-8, 8), STEPS),
  Floor: of(between(-100, 100), STEPS),
  Ceil: of(between(-100, 100), STEPS),
  Round: of(between(-100, 100), STEPS),
  Reciprocal: of(between(0.25, 4), twice(unaryGradients(ops.reciprocal, positivePoint)), {
    sized: positiveSized,
  }),
  Exp: of(between(-3, 3), twice(unaryGradients(ops.exp))),
  Log: of(between(0.01, 50), twice(unaryGradients(ops.log, positivePoint)), {
    sized: positiveSized,
    range: [0.01, 50],
  }),
  Sqrt: of(between(0.01, 50), twice(unaryGradients(ops.sqrt, positivePoint)), {
    sized: positiveSized,
    range: [0, 50],
  }),
  Erf: of(between(-1.5, 1.5), twice(unaryGradients(ops.erf))),
  Tanh: of(between(-1.5, 1.5), twice(unaryGradients(ops.tanh))),
  Sigmoid: of(between(-4, 4), twice(unaryGradients(ops.sigmoid)), { rare: [leftTail({})] }),
  Relu: of(
    between(-4, 8),
    [
      ...unaryGradients(ops.relu),
      gradient("kink", [pointAt(-1, -0, 0, 2 ** -10, 2)], ops.relu),
      gradient("an-infinite-gradient-stays-behind-the-mask", [pointAt(-1, 0.5, 2, -3)], (x) =>
        ops.sqrt(ops.relu(x)),
      ),
    ],
    { rare: [chooseSubnormals({})] },
  ),
  Softplus: of(between(-4, 4), twice(unaryGradients(ops.softplus)), { rare: [leftTail({})] }),
  Sin: of(between(-8, 8), twice(unaryGradients(ops.sin))),
  Cos: of(between(-8, 8), unaryGradients(ops.cos)),
  LeakyRelu: {
    samples: unaryValues([{ alpha: 0.125 }, { alpha: 0.01 }, { alpha: -0.5 }]),
    tails: unaryTail(between(-8, 8), [{ alpha: 0.125 }, { alpha: -0.5 }]),
    sizes: unarySizes({ alpha: 0.125 }),
    options: (dtype) => [
      setting("LeakyRelu", { alpha: [0.01, 0, 1, -0.5, 2, 0.3] }, {}, (attributes) =>
        sample(attributes, ramp(dtype)),
      ),
    ],
    gradients: unaryGradients((x) => ops.leakyRelu(x, 0.2)),
  },
  Elu: {
    samples: unaryValues([{ alpha: 1 }, { alpha: 0.3 }]),
    tails: unaryTail(between(-3, 3), [{ alpha: 1 }, { alpha: 0.3 }]),
    sizes: unarySizes({ alpha: 1 }),
    options: (dtype) => [
      setting("Elu", { alpha: [1, 0, -1, 0.5, 2] }, {}, (attributes) => sample(attributes, ramp(dtype))),
    ],
    gradients: unaryGradients((x) => ops.elu(x, 0.7)),
    rare: [leftTail({ alpha: 1 })],
  },
  Gelu: {
    samples: unaryValues([{ approximate: "none" }, { approximate: "tanh" }], gaussian),
    tails: unaryTail(between(-3, 3), [{ approximate: "none" }, { approximate: "tanh" }]),
    sizes: unarySizes({ approximate: "none" }),
    options: (dtype) => [
      setting("Gelu", { approximate: ["none", "tanh"] }, {}, (attributes) => sample(attributes, ramp(dtype))),
    ],
    gradients: twice([
      ...unaryGradients((x) => ops.gelu(x)),
      gradient("tanh", [spread([3, 4])], (x) => ops.gelu(x, { approximate: "tanh" })),
    ]),
  },
  Clip: {
    samples: (draws) => {
      const float = isComputeFloat(draws.dtype);
      const limits = [{ min: 2, max: 5 }, { min: 3 }, { max: INFINITE }, { min: -INFINITE, max: 3 }, {}];
      const numbers = float ? farValues(draws.dtype) : (INTEGERS[draws.dtype] ?? []);
      return {
        values: limits.map((attributes) => sample(attributes, hostData(draws.dtype, numbers))),
        shapes: SHAPES.map((shape) =>
          sample({ min: 1, max: 6 }, float ? randomData(draws, shape, -8, 8) : countUp(draws.dtype, shape)),
        ),
        ...extremes<"Clip">(draws.dtype, limits),
        ...(float && {
          // The limits are rounded to the dtype, as any number combined with a tensor is.
          "limits-are-rounded": [sample({ min: -0.1, max: 0.1 }, randomData(draws, [64], -1, 1))],
        }),
      };
    },
    tails: unaryTail(between(-8, 8), [{ min: 1, max: 6 }, { min: 2 }, { max: 5 }]),
    sizes: unarySizes({ min: 1_000, max: 66_000 }, counting),
    options: (dtype) => [
      setting("Clip", limits(dtype), {}, (attributes) => {
        const { min = -INFINITE, max = INFINITE } = attributes;
        if (min > max) return undefined;
        const numbers = isFloat(dtype)
          ? [...specialValues(dtype), -2.5, 1.25]
          : [0, 1, 2, 3, 4, 5, dtype.startsWith("u") ? 6 : -1];
        return sample(attributes, hostData(dtype, numbers));
      }),
    ],
    gradients: [
      ...unaryGradients((x) => ops.clip(x, { min: -0.5, max: 0.6 })),
      gradient("limits", [pointAt(-2, -1, 0, 1, 2)], (x) => ops.clip(x, { min: -1, max: 1 })),
    ],
    rare: [chooseSubnormals({ min: -1, max: 1 })],
  },
  Not: {
    samples: unaryValues(PLAIN),
    tails: unaryTail((draws, length) => label(draws, [length]), [{}], "bool"),
    sizes: unarySizes(plain, bools),
    gradients: PREDICATE,
  },
  IsNaN: of(speckle(Number.NaN), PREDICATE, { sized: nonFinite }),
  IsInf: of(speckle(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY), PREDICATE, { sized: nonFinite }),
  Identity: {
    samples: ({ dtype }) => ({
      values: SHAPES.map((shape) => sample({}, countUp(dtype, shape))),
    }),
    tails: unaryTail((draws, length) => label(draws, [length])),
    sizes: unarySizes(plain, counting),
    gradients: unaryGradients(ops.identity),
    rare: [moveSubnormals({}, [5, 7])],
  },
  Cast: {
    // Other cases test the values of casts. These test only shapes, with a target that every dtype converts to.
    samples: ({ dtype }) => ({
      shapes: SHAPES.map((shape) =>
        sample({ to: dtype === "f32" ? ("i32" as const) : ("f32" as const) }, countUp(dtype, shape)),
      ),
    }),
    sizes: unarySizes({ to: "i32" }, counting),
    options: (dtype) => [
      setting("Cast", { to: DTYPES }, {}, (attributes, _, draws) => {
        const { to } = attributes;
        if ((isEighth(dtype) && !isFloat(to)) || (isEighth(to) && !isFloat(dtype))) return undefined;
        // Inside the range of every dtype.
        const shape: Shape = [3, 2, 4];
        return sample(
          attributes,
          isFloat(dtype)
            ? generate(dtype, shape, () => draws.random.between(0, 200))
            : anyElements(
                { random: { ...draws.random, integer: () => draws.random.integer(0, 1) }, dtype },
                shape,
              ),
        );
      }),
    ],
    gradients: [
      gradient("through-f16", [spread([3, 4])], (x) => ops.cast(ops.cast(x, "f16"), "f32")),
      gradient("through-bf16", [spread([3, 4])], (x) => ops.cast(ops.cast(x, "bf16"), "f32")),
    ],
    rare: [farCast],
  },
};
