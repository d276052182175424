/** Elementwise operators of several operands, broadcasting as ONNX (NumPy) does. Each is its ONNX operator in lower camel form. */
import { checkOptions } from "../../options.js";
import { commonDType, emit, emitBroadcast, type Operand } from "../emit.js";
import { isTensor, type Tensor } from "../tensor.js";
import { literal } from "./source.js";
import type { Plain } from "./unary.js";

type Binary = (a: Operand, b: Operand) => Tensor;

const binary =
  (op: Plain): Binary =>
  (a, b) =>
    emitBroadcast(op, [a, b], {});

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
