/** Elementwise functions, named like ONNX's operators in lower camel case. */
import type { DType } from "../../dtype.js";
import { invalid } from "../../errors.js";
import { checkAttribute } from "../../graph/attribute-kinds-table.js";
import type { Op, OpAttributes } from "../../graph/attributes.js";
import { checkOptions } from "../../options.js";
import { shown } from "../../shown.js";
import { asTensor, emit } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { keepsCasts, withoutGradient } from "../trace.js";

export type Plain = { [K in Op]: Record<never, never> extends OpAttributes[K] ? K : never }[Op];

type Unary = (x: Tensor) => Tensor;

const unary = (op: Plain): Unary => {
  const operator: Unary = (x) => emit(op, [x], {});
  // Reports use this name for a part of a `sequential`.
  return Object.defineProperty(operator, "name", { value: `${op[0]?.toLowerCase()}${op.slice(1)}` });
};

/** |x| of each element; any shape, floats and signed integers. The gradient at 0 is 0. */
export const abs: Unary = unary("Abs");

/** -x of each element; any shape, floats and signed integers. -(-2^31) wraps to itself in i32. */
export const neg: Unary = unary("Neg");

/** -1, 0 or 1 for each element, and NaN for NaN; any shape, floats and signed integers. The gradient is 0. */
export const sign: Unary = unary("Sign");

/** The largest integer not above each element; any shape, floats. The gradient is 0. */
export const floor: Unary = unary("Floor");

/** The smallest integer not below each element; any shape, floats. The gradient is 0. */
export const ceil: Unary = unary("Ceil");

/** The integer nearest to each element, ties to even: 2.5 gives 2; any shape, floats. The gradient is 0. */
export const round: Unary = unary("Round");

/** 1 / x of each element; any shape, floats. 1 / 0 is an infinity. */
export const reciprocal: Unary = unary("Reciprocal");

/** eˣ of each element; any shape, floats. In f16 it overflows above 11.09, so policies compute it in f32. */
export const exp: Unary = unary("Exp");

/** The natural logarithm of each element; any shape, floats. -∞ at 0, NaN below. */
export const log: Unary = unary("Log");

/** The square root of each element; any shape, floats. NaN below 0; the gradient at 0 is infinite. */
export const sqrt: Unary = unary("Sqrt");

/** The error function of each element; any shape, floats. */
export const erf: Unary = unary("Erf");

/** The hyperbolic tangent of each element; any shape, floats. */
export const tanh: Unary = unary("Tanh");

/**
 * 1 / (1 + e⁻ˣ) of each element, without overflow; any shape, floats. For its logarithm take `neg(softplus(neg(x)))`,
 * because on ONNX Runtime the sigmoid of an x below -8 has few right digits, and of an x below -18 it is 0.
 */
export const sigmoid: Unary = unary("Sigmoid");

/** max(x, 0) of each element; any shape, floats. NaN stays NaN; the gradient at 0 is 0. */
export const relu: Unary = unary("Relu");

/** log(1 + eˣ) of each element, without overflow; any shape, floats. */
export const softplus: Unary = unary("Softplus");

/** The sine of each element, in radians; any shape, floats. */
export const sin: Unary = unary("Sin");

/** The cosine of each element, in radians; any shape, floats. */
export const cos: Unary = unary("Cos");

/** The negation of each element; bool, any shape. */
export const not: Unary = unary("Not");

/** Whether each element is NaN; floats of any shape to bool. It has no gradient. */
export const isNan: Unary = unary("IsNaN");

/** Whether each element is ∞ or -∞; floats of any shape to bool. It has no gradient. */
export const isInf: Unary = unary("IsInf");

/** x itself, as a separate node; any shape and dtype. */
export const identity: Unary = unary("Identity");

/**
 * Returns x (any shape and dtype), which gradients treat as a constant. Use it for a target that the model computes,
 * a baseline, or a straight-through estimator such as `add(x, stopGradient(sub(round(x), x)))`.
 * @throws MP_INVALID_ARGUMENT for a value that is not a traced tensor
 */
export function stopGradient(x: Tensor): Tensor {
  return withoutGradient(() => emit("Identity", [x], {}));
}

/** x for x ≥ 0, alpha · x below, for each element; floats of any shape. */
export function leakyRelu(x: Tensor, alpha = 0.01): Tensor {
  return emit("LeakyRelu", [x], { alpha });
}

/** x for x ≥ 0, alpha · (eˣ - 1) below, for each element; floats of any shape. */
export function elu(x: Tensor, alpha = 1): Tensor {
  return emit("Elu", [x], { alpha });
}

/**
 * x · Φ(x) of each element; floats of any shape. `approximate: "tanh"` is the formula of the original BERT and GPT code.
 * @throws MP_INVALID_ARGUMENT for another approximation
 */
export function gelu(x: Tensor, options: { readonly approximate?: "none" | "tanh" } = {}): Tensor {
  checkOptions("Gelu", options, { approximate: true });
  const { approximate = "none" } = options;
  return emit("Gelu", [x], { approximate });
}

/**
 * Clips each element of a numeric tensor to min … max. Either limit may be left out. NaN stays NaN. The gradient is 0
 * outside the limits.
 */
export function clip(x: Tensor, limits: { readonly min?: number; readonly max?: number }): Tensor {
  checkOptions("Clip", limits, { min: true, max: true }, "{ min: 0 }");
  return emit("Clip", [x], limits);
}

/**
 * x (any shape) in another dtype. Casts between floats round to nearest, ties to even; casts from floats to integers
 * round toward zero; a bool is true where x is not 0. No casting policy changes the cast. A cast to the same dtype
 * returns the same tensor, except under `autocast`, where it pins the tensor to that dtype under any policy. The
 * gradient is cast back.
 * @throws MP_INVALID_ARGUMENT for an unknown dtype or a number instead of a tensor
 */
export function cast(x: Tensor, to: DType): Tensor {
  checkAttribute("Cast", "to", to);
  if (typeof x === "number") {
    throw invalid(`Cast: takes traced tensors, got ${shown(x)}; literal(${shown(x)}, "${to}") makes one`);
  }
  return asTensor(x, "Cast").dtype === to && !keepsCasts() ? x : emit("Cast", [x], { to });
}
