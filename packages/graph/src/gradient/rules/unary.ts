import type { Op } from "../../graph/attributes.js";
import type { OpOf } from "../../graph/families.js";
import { add, div, equal, lessOrEqual, mul, sub, where } from "../../trace/ops/binary.js";
import { cast, clip, cos, erf, exp, neg, sigmoid, sign, sin } from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import { type GradientRule, type GradientTable, gradientDType, wide } from "./rule.js";

/** Makes a rule that computes dL/dx = dL/dy · f'(x) from x. */
const ofInput =
  <K extends Op>(rule: (gradient: Tensor, x: Tensor) => Tensor): GradientRule<K> =>
  ({ gradient, input }) => [rule(gradient(0), input(0))];

/** Makes a rule that computes dL/dx from y = f(x), where that is cheap, so that x need not be kept. */
const ofOutput =
  <K extends Op>(rule: (gradient: Tensor, y: Tensor) => Tensor): GradientRule<K> =>
  ({ gradient, output }) => [rule(gradient(0), output(0))];

const times = (gradient: Tensor, factor: Tensor): Tensor => mul(gradient, cast(factor, gradient.dtype));

const STEP = { zero: "constant between its steps" };
const PREDICATE = { zero: "its output is bool" };

/** Φ(x) + x φ(x), with the normal distribution's cumulative function Φ and density φ. */
function geluSlope(x: Tensor): Tensor {
  const cumulative = mul(add(erf(mul(x, Math.SQRT1_2)), 1), 0.5);
  const density = mul(exp(mul(mul(x, x), -0.5)), 1 / Math.sqrt(2 * Math.PI));
  return add(cumulative, mul(x, density));
}

const GELU_LINEAR = 2 * Math.sqrt(2 / Math.PI);
const GELU_CUBIC = 0.044715 * GELU_LINEAR;

/**
 * The slope s + x · s (1 - s) · dz/dx of x · s, with s = sigmoid(z) and z = 2√(2/π) · (x + 0.044715 x³). The usual
 * form x/2 · (1 + tanh(z/2)) is the same function, but for x below 0 the sum 1 + tanh loses digits that s keeps.
 */
function geluTanhSlope(x: Tensor): Tensor {
  const squared = mul(x, x);
  const s = sigmoid(mul(x, add(mul(squared, GELU_CUBIC), GELU_LINEAR)));
  const slope = add(mul(squared, 3 * GELU_CUBIC), GELU_LINEAR);
  return mul(s, add(mul(mul(x, sub(1, s)), slope), 1));
}

/**
 * Kinks have PyTorch's gradients: 0 for Abs at 0, the left slope at 0 for Relu, LeakyRelu and Elu, and 1 for Clip at
 * its limits. Masks are `Where`, not products, since 0 times an infinite gradient is NaN.
 */
export const unaryGradients: GradientTable<OpOf<"unary">> = {
  Abs: ofInput((g, x) => mul(g, sign(x))),
  Neg: ({ gradient }) => [neg(gradient(0))],
  Sign: STEP,
  Floor: STEP,
  Ceil: STEP,
  Round: STEP,
  // (g · y) · y and not g · y²: y² leaves f16's range where the product does not.
  Reciprocal: ofOutput((g, y) => neg(mul(mul(g, y), y))),
  Exp: ofOutput((g, y) => mul(g, y)),
  Log: ofInput((g, x) => div(g, x)),
  Sqrt: ofOutput((g, y) => div(g, add(y, y))),
  Erf: ofInput((g, x) => times(g, mul(exp(neg(mul(wide(x), wide(x)))), 2 / Math.sqrt(Math.PI)))),
  Tanh: ofOutput((g, y) => mul(g, sub(1, mul(y, y)))),
  Sigmoid: ofOutput((g, y) => mul(g, mul(y, sub(1, y)))),
  Relu: ofOutput((g, y) => where(lessOrEqual(y, 0), 0, g)),
  Softplus: ofInput((g, x) => mul(g, sigmoid(x))),
  Sin: ofInput((g, x) => mul(g, cos(x))),
  Cos: ofInput((g, x) => neg(mul(g, sin(x)))),
  // If alpha is not negative, y ≤ 0 exactly where x ≤ 0.
  LeakyRelu: ({ attributes: { alpha }, gradient, input, output }) => {
    const sided = alpha >= 0 ? output(0) : input(0);
    return [where(lessOrEqual(sided, 0), mul(gradient(0), alpha), gradient(0))];
  },
  // alpha · eˣ = y + alpha
  Elu: ({ attributes: { alpha }, gradient, input, output }) => {
    const sided = alpha >= 0 ? output(0) : input(0);
    return [where(lessOrEqual(sided, 0), mul(gradient(0), add(output(0), alpha)), gradient(0))];
  },
  Gelu: ({ attributes: { approximate }, gradient, input }) => [
    times(gradient(0), approximate === "tanh" ? geluTanhSlope(wide(input(0))) : geluSlope(wide(input(0)))),
  ],
  // Clips again instead of keeping y. This takes one pass, and only x stays alive.
  Clip: ({ attributes, gradient, input }) => [
    where(equal(clip(input(0), attributes), input(0)), gradient(0), 0),
  ],
  Not: PREDICATE,
  IsNaN: PREDICATE,
  IsInf: PREDICATE,
  Identity: ({ gradient }) => [gradient(0)],
  Cast: ({ gradient, inputType }) => [cast(gradient(0), gradientDType(inputType(0).dtype))],
};
