import { type DType, isFloat, type OpAttributes, type OpOf } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { limitsOf } from "../stablehlo/neutral.js";
import { dtypeOf, type Operand } from "../stablehlo/operand.js";
import type { UnaryOperation } from "../stablehlo/operations.js";
import { cast } from "./cast.js";
import { inF32, type Lowering, type LoweringTable } from "./lowering.js";

type UnaryLowering = Lowering<OpOf<"unary">>;

/** Lowers to an operation that needs no f32, in any dtype. */
const plain =
  (operation: UnaryOperation): UnaryLowering =>
  (emitter, _, [x]) => [emitter.unary(operation, x)];

/** Lowers to a function computed in f32: in a half dtype XLA would round after each step. */
const wide = (f: (emitter: Emitter, x: Operand) => Operand): UnaryLowering =>
  inF32((emitter, _, [x]) => [f(emitter, x)]);

const wideUnary = (operation: UnaryOperation): UnaryLowering =>
  wide((emitter, x) => emitter.unary(operation, x));

/** The sign of x, and +0 for both zeros; XLA's operation keeps -0. */
function sign(emitter: Emitter, x: Operand): Operand {
  const own = emitter.unary("sign", x);
  if (!isFloat(dtypeOf(x))) return own;
  return emitter.select(emitter.compare("EQ", x, 0), emitter.like(x, 0), own);
}

/** log(1 + eˣ), without overflow for large x. */
function softplus(emitter: Emitter, x: Operand): Operand {
  const tail = emitter.unary("exponential", emitter.unary("negate", emitter.unary("abs", x)));
  return emitter.binary("add", emitter.binary("maximum", x, 0), emitter.unary("log_plus_one", tail));
}

/** f(x) · alpha for negative x, else x. */
const ifNegative = (f: (emitter: Emitter, x: Operand) => Operand): Lowering<"LeakyRelu" | "Elu"> =>
  inF32((emitter, { attributes: { alpha } }, [x]) => {
    const scaled = emitter.binary("multiply", f(emitter, x), alpha);
    return [emitter.select(emitter.compare("LT", x, 0), scaled, x)];
  });

/** The error function. Beyond ±1 it is 1 - erfc, because XLA's erf has an error of 5 ulp where it is near 1. */
function erf(emitter: Emitter, x: Operand): Operand {
  const size = emitter.unary("abs", x);
  const far = emitter.binary("subtract", emitter.like(x, 1), emitter.special("erfc", size));
  const signed = emitter.select(emitter.compare("LT", x, 0), emitter.unary("negate", far), far);
  return emitter.select(emitter.compare("LT", size, 1), emitter.special("erf", x), signed);
}

/** x/2 · erfc(-x/√2), which is accurate where 1 + erf would cancel. */
function gelu(emitter: Emitter, x: Operand): Operand {
  const tail = emitter.special("erfc", emitter.binary("multiply", x, -Math.SQRT1_2));
  return emitter.binary("multiply", emitter.binary("multiply", x, 0.5), tail);
}

/** x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))). */
function geluTanh(emitter: Emitter, x: Operand): Operand {
  const cube = emitter.binary("multiply", emitter.binary("multiply", x, x), x);
  const inner = emitter.binary("add", x, emitter.binary("multiply", cube, 0.044715));
  const bend = emitter.unary("tanh", emitter.binary("multiply", inner, Math.sqrt(2 / Math.PI)));
  return emitter.binary("multiply", emitter.binary("multiply", x, 0.5), emitter.binary("add", bend, 1));
}

/** A clip bound in the dtype. For integers, the nearest integer within the bound and the dtype's limits. */
function boundOf(dtype: DType, bound: number, inside: (x: number) => number): number | bigint {
  if (isFloat(dtype) || Number.isNaN(bound)) return bound;
  const [least, greatest] = limitsOf(dtype);
  return bound <= least ? least : bound >= greatest ? greatest : inside(bound);
}

function clip(emitter: Emitter, x: Operand, { min, max }: OpAttributes["Clip"]): Operand {
  const dtype = dtypeOf(x);
  const above = min === undefined ? x : emitter.binary("maximum", x, boundOf(dtype, min, Math.ceil));
  return max === undefined ? above : emitter.binary("minimum", above, boundOf(dtype, max, Math.floor));
}

export const unaryLowerings: LoweringTable<OpOf<"unary">> = {
  Abs: plain("abs"),
  Neg: plain("negate"),
  Sign: (emitter, _, [x]) => [sign(emitter, x)],
  Floor: plain("floor"),
  Ceil: plain("ceil"),
  Round: plain("round_nearest_even"),
  Reciprocal: wide((emitter, x) => emitter.binary("divide", emitter.like(x, 1), x)),
  Exp: wideUnary("exponential"),
  Log: wideUnary("log"),
  Sqrt: wideUnary("sqrt"),
  Erf: wide(erf),
  Tanh: wideUnary("tanh"),
  Sigmoid: wideUnary("logistic"),
  Relu: (emitter, _, [x]) => [emitter.binary("maximum", x, 0)],
  Softplus: wide(softplus),
  Sin: wideUnary("sine"),
  Cos: wideUnary("cosine"),
  LeakyRelu: ifNegative((_, x) => x),
  Elu: ifNegative((emitter, x) => emitter.unary("exponential_minus_one", x)),
  Gelu: inF32((emitter, { attributes }, [x]) => [
    attributes.approximate === "tanh" ? geluTanh(emitter, x) : gelu(emitter, x),
  ]),
  Clip: (emitter, { attributes }, [x]) => [clip(emitter, x, attributes)],
  Not: plain("not"),
  IsNaN: (emitter, _, [x]) => [emitter.compare("NE", x, x)],
  IsInf: (emitter, _, [x]) => [emitter.compare("EQ", emitter.unary("abs", x), Number.POSITIVE_INFINITY)],
  Identity: (_, __, [x]) => [x],
  Cast: (emitter, { attributes }, [x]) => [cast(emitter, x, attributes.to)],
};
