/** Elementwise operators of several operands, with ONNX's (NumPy's) broadcasting and names, in lower camel case. */
import { checkOptions } from "../../options.js";
import { commonDType, emit, emitBroadcast, type Operand } from "../emit.js";
import { isTensor, type Tensor } from "../tensor.js";
import { literal } from "./source.js";
import type { Plain } from "./unary.js";

/**
 * Takes two operands of one dtype, one of which may be a number; shapes broadcast. If two floats differ in dtype,
 * both are cast to the wider one (f16 and bf16 to f32).
 * @throws MP_SHAPE_MISMATCH for shapes that do not broadcast, MP_DTYPE_MISMATCH
 */
type Binary = (a: Operand, b: Operand) => Tensor;

const binary =
  (op: Plain): Binary =>
  (a, b) =>
    emitBroadcast(op, [a, b], {});

/** a + b, broadcasting; integers wrap around. */
export const add: Binary = binary("Add");

/** a - b, broadcasting; integers wrap around. */
export const sub: Binary = binary("Sub");

/** a · b, broadcasting; integers wrap around. 0 · ∞ is NaN. */
export const mul: Binary = binary("Mul");

/**
 * a / b, broadcasting. Integer division truncates toward zero; the smallest integer divided by -1 wraps to itself. An
 * integer divided by 0 is an error: the run fails with MP_OUT_OF_RANGE or MP_BACKEND_FAILED, or the result is undefined
 * on a device that does not check.
 */
export const div: Binary = binary("Div");

/**
 * a to the power b, broadcasting; floats. 1 to any power and anything to the power 0 are 1, NaN included (IEEE 754).
 */
export const pow: Binary = binary("Pow");

/** The smaller of a and b, broadcasting; NaN if either is NaN. Equal elements share the gradient. */
export const minimum: Binary = binary("Min");

/** The larger of a and b, broadcasting; NaN if either is NaN. Equal elements share the gradient. */
export const maximum: Binary = binary("Max");

/** Whether a equals b, element by element, broadcasting, as bool; NaN equals nothing. It has no gradient. */
export const equal: Binary = binary("Equal");

/** Whether a > b, element by element, broadcasting, as bool; false for NaN. It has no gradient. */
export const greater: Binary = binary("Greater");

/** Whether a ≥ b, element by element, broadcasting, as bool; false for NaN. It has no gradient. */
export const greaterOrEqual: Binary = binary("GreaterOrEqual");

/** Whether a < b, element by element, broadcasting, as bool; false for NaN. It has no gradient. */
export const less: Binary = binary("Less");

/** Whether a ≤ b, element by element, broadcasting, as bool; false for NaN. It has no gradient. */
export const lessOrEqual: Binary = binary("LessOrEqual");

/** Whether both are true, element by element, broadcasting; bool. */
export const and: Binary = binary("And");

/** Whether either is true, element by element, broadcasting; bool. */
export const or: Binary = binary("Or");

/** Whether exactly one is true, element by element, broadcasting; bool. */
export const xor: Binary = binary("Xor");

/**
 * Remainder of a / b, broadcasting. Integers: with the sign of b; division by 0 as in `div`. Floats: with the sign of
 * a, and only with `fmod: true`.
 * @throws MP_DTYPE_MISMATCH for floats without `fmod` and integers with it
 */
export function mod(a: Operand, b: Operand, options: { readonly fmod?: boolean } = {}): Tensor {
  checkOptions("Mod", options, { fmod: true });
  const { fmod = false } = options;
  return emitBroadcast("Mod", [a, b], { fmod });
}

/** x² of each element of a numeric tensor. Policies compute it in f32: in f16 it overflows above 255. */
export function square(x: Tensor): Tensor {
  return mul(x, x);
}

/**
 * x where the condition (bool) is true, y elsewhere. All three broadcast; x and y have one dtype or are numbers; both
 * are computed. The gradient of an element that is not chosen is 0, or NaN where its own derivative is not finite.
 * @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH
 */
export function where(condition: Tensor, x: Operand, y: Operand): Tensor {
  const dtype = commonDType("Where", [x, y].filter(isTensor));
  const side = (operand: Operand): Tensor => {
    if (!isTensor(operand)) return literal(operand, dtype);
    return operand.dtype === dtype ? operand : emit("Cast", [operand], { to: dtype });
  };
  return emit("Where", [condition, side(x), side(y)], {});
}
