/** Functions of each element. Each is its ONNX operator in lower camel form. */
import type { DType } from "../../dtype.js";
import { MpError } from "../../errors.js";
import { checkAttribute } from "../../graph/attribute-kinds-table.js";
import type { Op, OpAttributes } from "../../graph/attributes.js";
import { checkOptions } from "../../options.js";
import { shown } from "../../shown.js";
import { asTensor, emit } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { keepsCasts, withoutGradient } from "../trace.js";

export type Plain = { [K in Op]: Record<never, never> extends OpAttributes[K] ? K : never }[Op];

type Unary = (x: Tensor) => Tensor;

const unary =
  (op: Plain): Unary =>
  (x) =>
    emit(op, [x], {});

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
