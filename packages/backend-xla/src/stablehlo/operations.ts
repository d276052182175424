/** Operations with one operand, whose result has the operand's type. */
export type UnaryOperation =
  | "abs"
  | "negate"
  | "sign"
  | "floor"
  | "ceil"
  | "round_nearest_even"
  | "exponential"
  | "exponential_minus_one"
  | "log"
  | "log_plus_one"
  | "sqrt"
  | "rsqrt"
  | "tanh"
  | "logistic"
  | "sine"
  | "cosine"
  | "not";

/** Operations with two operands of the same type, which is also the result's type. */
export type BinaryOperation =
  | "add"
  | "subtract"
  | "multiply"
  | "divide"
  | "remainder"
  | "power"
  | "maximum"
  | "minimum"
  | "and"
  | "or"
  | "xor"
  | "shift_left"
  | "shift_right_logical";

export type Comparison = "EQ" | "NE" | "GE" | "GT" | "LE" | "LT";

/** Axes of the two operands of a product: batch axes, which both have, and axes over which it sums. */
export interface ProductAxes {
  readonly batch: readonly [left: readonly number[], right: readonly number[]];
  readonly summed: readonly [left: readonly number[], right: readonly number[]];
}
