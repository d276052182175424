/** Operations of one operand whose result has its type. */
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

/** Operations of two operands of one type whose result has that type. */
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

/** The axes of a product: those that both operands share, and those that it sums over, of the left and the right. */
export interface ProductAxes {
  readonly batch: readonly [left: readonly number[], right: readonly number[]];
  readonly summed: readonly [left: readonly number[], right: readonly number[]];
}
