import { FAMILIES, type OpOf, rowsOf } from "@mp/core/graph";
import { float, type Lowering, type LoweringTable, type TfWriter, type } from "../graph/tf-writer.js";
import { cast } from "./cast.js";
import { emitT, operandAt, typeAt } from "./lowering.js";
import { plain } from "./plain.js";
import { inF32 } from "./twins.js";

/** Arithmetic on f32 names, for functions that the engine has no op for. */
function f32Arithmetic(writer: TfWriter) {
  const two =
    (op: string) =>
    (a: string, b: string | number): string =>
      emitT(op, [a, typeof b === "number" ? writer.scalar(b, "f32") : b], "f32", writer);
  return {
    add: two("AddV2"),
    mul: two("Mul"),
    less: two("Less"),
    one: (op: string, x: string): string => emitT(op, [x], "f32", writer),
    select: (condition: string, yes: string, no: string): string =>
      emitT("SelectV2", [condition, yes, no], "f32", writer),
  };
}

/** The engine's own op is off by more than one ulp. */
const reciprocal: Lowering<"Reciprocal"> = (node, operands, writer) => {
  const { dtype } = typeAt(node, 0);
  return [emitT("RealDiv", [writer.scalar(1, dtype), operandAt(operands, 0)], dtype, writer)];
};

/** For alpha outside 0 … 1 the engine's op takes the larger of x and alpha · x, which is not LeakyRelu. */
const leakyRelu: Lowering<"LeakyRelu"> = (node, operands, writer) => {
  const { alpha } = node.attributes;
  const x = operandAt(operands, 0);
  if (alpha >= 0 && alpha <= 1) {
    return [writer.one("LeakyRelu", [x], { T: type("f32"), alpha: float(alpha) })];
  }
  const { mul, less, select } = f32Arithmetic(writer);
  return [select(less(x, 0), mul(x, alpha), x)];
};

/** The engine's own op computes exp(x) - 1, whose error near 0 is that of numbers near 1. */
const elu: Lowering<"Elu"> = (node, operands, writer) => {
  const { alpha } = node.attributes;
  const x = operandAt(operands, 0);
  const { mul, less, one, select } = f32Arithmetic(writer);
  const minusOne = one("Expm1", x);
  return [select(less(x, 0), alpha === 1 ? minusOne : mul(minusOne, alpha), x)];
};

/** x/2 · (1 + erf(x/√2)): the engine's erfc would keep the digits of the tail, but takes three times as long. */
function gelu(x: string, writer: TfWriter): string {
  const { add, mul, one } = f32Arithmetic(writer);
  return mul(mul(x, 0.5), add(one("Erf", mul(x, Math.SQRT1_2)), 1));
}

/** (1 + tanh u)/2 is the logistic function of 2u, which saves two passes. */
function geluTanh(x: string, writer: TfWriter): string {
  const { add, mul, one } = f32Arithmetic(writer);
  const scale = 2 * Math.sqrt(2 / Math.PI);
  const u = mul(x, add(mul(one("Square", x), scale * 0.044715), scale));
  return mul(x, one("Sigmoid", u));
}

/**
 * Bounds are values of x's dtype. For integers a bound becomes the next integer inside; a bound outside the dtype's
 * range is dropped.
 */
const clip: Lowering<"Clip"> = (node, operands, writer) => {
  const { dtype } = typeAt(node, 0);
  const { min, max } = node.attributes;
  const x = operandAt(operands, 0);
  const low = min === undefined ? undefined : boundIn(dtype, min, Math.ceil);
  const high = max === undefined ? undefined : boundIn(dtype, max, Math.floor);
  const above = low === undefined ? x : emitT("Maximum", [x, writer.scalar(low, dtype)], dtype, writer);
  return [high === undefined ? above : emitT("Minimum", [above, writer.scalar(high, dtype)], dtype, writer)];
};

const integerRanges: Readonly<Record<string, readonly [low: number, high: number]>> = {
  i32: [-(2 ** 31), 2 ** 31 - 1],
  i64: [-(2 ** 63), 2 ** 63],
  u64: [0, 2 ** 64],
  u8: [0, 255],
};

function boundIn(dtype: string, bound: number, inside: (x: number) => number): number | undefined {
  const range = integerRanges[dtype];
  if (range === undefined) return bound;
  const integer = inside(bound);
  return integer >= range[0] && integer < range[1] ? integer : undefined;
}

/** TensorFlow's graph optimizer rewrites LogicalNot over "less" to "greater or equal", which is wrong for NaN. */
const not: Lowering<"Not"> = (_, operands, writer) => [
  emitT("NotEqual", [operandAt(operands, 0), writer.scalar(1, "bool")], "bool", writer),
];

export const unaryLowerings: LoweringTable<OpOf<"unary">> = {
  ...rowsOf(FAMILIES.unary, (op) => plain<OpOf<"unary">>(op)),
  Reciprocal: reciprocal,
  /** In halves the engine's Softplus loses most digits in its intermediate steps. */
  Softplus: inF32(plain("Softplus")),
  LeakyRelu: inF32(leakyRelu),
  Elu: inF32(elu),
  Gelu: inF32((node, operands, writer) => {
    const form = node.attributes.approximate === "tanh" ? geluTanh : gelu;
    return [form(operandAt(operands, 0), writer)];
  }),
  Clip: clip,
  Identity: (_, operands) => [operandAt(operands, 0)],
  Cast: cast,
  IsNaN: plain("IsNan"),
  Not: not,
};
