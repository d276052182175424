import { type DType, FAMILIES, type OpOf, rowsOf } from "@mp/graph";
import { float, type } from "../graph/attributes.js";
import type { Term } from "../graph/term.js";
import { cast } from "./cast.js";
import { inF32 } from "./in-f32.js";
import type { Lowering, LoweringTable } from "./lowering.js";
import { plain } from "./plain.js";

/** 1 / (x · 1), because the engine's Reciprocal, and the Rsqrt that its optimizer makes of 1 / √x, are inaccurate. */
const reciprocal: Lowering<"Reciprocal"> = (_, [x], writer) => [writer.scalar(1, x.dtype).div(x.mul(1))];

/** Selects explicitly for alpha outside of [0, 1], because the engine's op takes the larger of x and alpha · x. */
const leakyRelu: Lowering<"LeakyRelu"> = (node, [x], writer) => {
  const { alpha } = node.attributes;
  if (alpha >= 0 && alpha <= 1)
    return [writer.term("LeakyRelu", [x], { T: type("f32"), alpha: float(alpha) }, x)];
  return [x.op("Less", 0).select(x.mul(alpha), x)];
};

/** Uses Expm1, because the engine's Elu computes exp(x) - 1, with the absolute error of a number near 1. */
const elu: Lowering<"Elu"> = (node, [x]) => {
  const { alpha } = node.attributes;
  const minusOne = x.op("Expm1");
  return [x.op("Less", 0).select(alpha === 1 ? minusOne : minusOne.mul(alpha), x)];
};

/** x/2 · (1 + erf(x/√2)); erfc would be more accurate for very negative x, but takes three times as long. */
const gelu = (x: Term): Term => x.mul(0.5).mul(x.mul(Math.SQRT1_2).op("Erf").add(1));

/** x · (1 + tanh u)/2, computed as x · sigmoid(2u), which saves two passes. */
function geluTanh(x: Term): Term {
  const scale = 2 * Math.sqrt(2 / Math.PI);
  const u = x.mul(
    x
      .op("Square")
      .mul(scale * 0.044715)
      .add(scale),
  );
  return x.mul(u.op("Sigmoid"));
}

/**
 * Clips with bounds in x's dtype. For integers, a bound is rounded to the next integer within it; a bound
 * outside of the dtype's range is dropped.
 */
const clip: Lowering<"Clip"> = (node, [x]) => {
  const { min, max } = node.attributes;
  const low = min === undefined ? undefined : boundIn(x.dtype, min, Math.ceil);
  const high = max === undefined ? undefined : boundIn(x.dtype, max, Math.floor);
  const above = low === undefined ? x : x.op("Maximum", low);
  return [high === undefined ? above : above.op("Minimum", high)];
};

const integerRanges: Partial<Readonly<Record<DType, readonly [low: number, high: number]>>> = {
  i32: [-(2 ** 31), 2 ** 31 - 1],
  i64: [-(2 ** 63), 2 ** 63],
  u64: [0, 2 ** 64],
  u8: [0, 255],
};

function boundIn(dtype: DType, bound: number, inside: (x: number) => number): number | undefined {
  const range = integerRanges[dtype];
  if (range === undefined) return bound;
  const integer = inside(bound);
  return integer >= range[0] && integer < range[1] ? integer : undefined;
}

export const unaryLowerings: LoweringTable<OpOf<"unary">> = {
  ...rowsOf(FAMILIES.unary, (op) => plain<OpOf<"unary">>(op)),
  Reciprocal: reciprocal,
  /** Computed in f32, because in half dtypes the engine's intermediate roundings lose most digits. */
  Softplus: inF32(plain("Softplus")),
  LeakyRelu: inF32(leakyRelu),
  Elu: inF32(elu),
  Gelu: inF32((node, [x]) => [node.attributes.approximate === "tanh" ? geluTanh(x) : gelu(x)]),
  Clip: clip,
  Identity: (_, [x]) => [x],
  Cast: cast,
  IsNaN: plain("IsNan"),
  /** Avoids LogicalNot. TensorFlow's optimizer negates "less" to "greater or equal", wrong for NaN. */
  Not: (_, [x], writer) => [x.op("NotEqual", writer.scalar(1, "bool"))],
};
