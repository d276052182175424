/** Elementwise operators, broadcasting as ONNX (NumPy) does. Each is its ONNX operator in lower camel form. */
import type { DType } from "../../dtype.js";
import { MpError } from "../../errors.js";
import { checkAttribute } from "../../graph/attribute-kinds-table.js";
import type { Op, OpAttributes } from "../../graph/attributes.js";
import { checkOptions } from "../../options.js";
import { shown } from "../../shown.js";
import { asTensor, commonDType, emit, emitBroadcast, type Operand } from "../emit.js";
import { isTensor, Tensor } from "../tensor.js";
import { currentBuilder, keepsCasts, withoutGradient } from "../trace.js";

type Plain = { [K in Op]: Record<never, never> extends OpAttributes[K] ? K : never }[Op];
type Unary = (x: Tensor) => Tensor;
type Binary = (a: Operand, b: Operand) => Tensor;

const unary =
  (op: Plain): Unary =>
  (x) =>
    emit(op, [x], {});
const binary =
  (op: Plain): Binary =>
  (a, b) =>
    emitBroadcast(op, [a, b], {});

export const abs: Unary = unary("Abs");
export const neg: Unary = unary("Neg");
export const sign: Unary = unary("Sign");
export const floor: Unary = unary("Floor");
export const ceil: Unary = unary("Ceil");
/** Rounds half to even. */
export const round: Unary = unary("Round");
export const reciprocal: Unary = unary("Reciprocal");
export const exp: Unary = unary("Exp");
export const log: Unary = unary("Log");
export const sqrt: Unary = unary("Sqrt");
export const erf: Unary = unary("Erf");
export const tanh: Unary = unary("Tanh");
export const sigmoid: Unary = unary("Sigmoid");
export const relu: Unary = unary("Relu");
export const softplus: Unary = unary("Softplus");
export const sin: Unary = unary("Sin");
export const cos: Unary = unary("Cos");
export const not: Unary = unary("Not");
export const isNan: Unary = unary("IsNaN");
export const isInf: Unary = unary("IsInf");
export const identity: Unary = unary("Identity");

/**
 * Returns x (any shape and dtype) as a constant to gradients: for a target computed by the model, a baseline, or a
 * straight-through estimator such as `add(x, stopGradient(sub(round(x), x)))`.
 * @throws MP_INVALID_ARGUMENT for a value that is not a traced tensor
 */
export function stopGradient(x: Tensor): Tensor {
  return withoutGradient(() => emit("Identity", [x], {}));
}

export const add: Binary = binary("Add");
export const sub: Binary = binary("Sub");
export const mul: Binary = binary("Mul");
/**
 * Integer division truncates toward zero; the smallest integer divided by -1 wraps to itself. An integer divided by 0
 * is an error: the run fails with MP_OUT_OF_RANGE or MP_BACKEND_FAILED, or the result is undefined on a device that
 * does not check.
 */
export const div: Binary = binary("Div");
export const pow: Binary = binary("Pow");
export const minimum: Binary = binary("Min");
export const maximum: Binary = binary("Max");
export const equal: Binary = binary("Equal");
export const greater: Binary = binary("Greater");
export const greaterOrEqual: Binary = binary("GreaterOrEqual");
export const less: Binary = binary("Less");
export const lessOrEqual: Binary = binary("LessOrEqual");
export const and: Binary = binary("And");
export const or: Binary = binary("Or");
export const xor: Binary = binary("Xor");

/** x for x ≥ 0, alpha · x below. */
export function leakyRelu(x: Tensor, alpha = 0.01): Tensor {
  return emit("LeakyRelu", [x], { alpha });
}

/** x for x ≥ 0, alpha · (eˣ - 1) below. */
export function elu(x: Tensor, alpha = 1): Tensor {
  return emit("Elu", [x], { alpha });
}

/** x · Φ(x); `approximate: "tanh"` is the formula of the original BERT and GPT code. */
export function gelu(x: Tensor, options: { readonly approximate?: "none" | "tanh" } = {}): Tensor {
  checkOptions("Gelu", options, { approximate: true });
  const { approximate = "none" } = options;
  return emit("Gelu", [x], { approximate });
}

/** Clips to min … max; NaN stays NaN. The gradient is 0 outside the limits. */
export function clip(x: Tensor, limits: { readonly min?: number; readonly max?: number }): Tensor {
  checkOptions("Clip", limits, { min: true, max: true }, "{ min: 0 }");
  return emit("Clip", [x], limits);
}

/**
 * Remainder; `fmod: true` takes the dividend's sign (floats), otherwise the divisor's (integers; division by 0 as in
 * `div`).
 */
export function mod(a: Operand, b: Operand, options: { readonly fmod?: boolean } = {}): Tensor {
  checkOptions("Mod", options, { fmod: true });
  const { fmod = false } = options;
  return emitBroadcast("Mod", [a, b], { fmod });
}

export function square(x: Tensor): Tensor {
  return mul(x, x);
}

/** x where the condition (bool) is true, y elsewhere. Both are computed. */
export function where(condition: Tensor, x: Operand, y: Operand): Tensor {
  const dtype = commonDType("Where", [x, y].filter(isTensor));
  const side = (operand: Operand): Tensor => {
    if (!isTensor(operand)) return literal(operand, dtype);
    return operand.dtype === dtype ? operand : emit("Cast", [operand], { to: dtype });
  };
  return emit("Where", [condition, side(x), side(y)], {});
}

/**
 * A user's cast, which no casting policy changes. A cast to the same dtype returns the same tensor, except under
 * `autocast`, where it is kept: it pins the tensor to that dtype under any policy.
 */
export function cast(x: Tensor, to: DType): Tensor {
  checkAttribute("Cast", "to", to);
  if (typeof x === "number") {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `Cast: takes traced tensors, got ${shown(x)}; literal(${shown(x)}, "${to}") makes one`,
    );
  }
  return asTensor(x, "Cast").dtype === to && !keepsCasts() ? x : emit("Cast", [x], { to });
}

/** A number as a scalar tensor, rounded once from f64. @throws MP_OUT_OF_RANGE */
export function literal(number: number, dtype: DType = "f32"): Tensor {
  const builder = currentBuilder("literal");
  if (typeof number !== "number") {
    throw new MpError("MP_INVALID_ARGUMENT", `literal: takes a number, got ${shown(number)}`);
  }
  checkAttribute("literal", "dtype", dtype);
  return Tensor.of(builder.literal(number, dtype));
}
