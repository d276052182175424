/** What is known of an operator's result if small integers are held in a wider type. */
export interface SmallIntegerRule {
  /** Index of the operand whose type the result has; absent if the result is not a small integer. */
  readonly of?: number;
  /** Whether the result may leave the type's range and must be wrapped. */
  readonly wraps: boolean;
}

const rule = (wraps: boolean, of: number | undefined, ops: readonly string[]) =>
  ops.map((op) => [op, { wraps, ...(of === undefined ? {} : { of }) }] as const);

/**
 * The rules by operator; others are refused. Results that wrap, such as sums, products and differences, are correct
 * modulo the type's size when computed with more bits.
 */
export const smallIntegerRules: ReadonlyMap<string, SmallIntegerRule> = new Map([
  ...rule(true, 0, [
    "Abs",
    "Add",
    "CumSum",
    "Div",
    "Mul",
    "Neg",
    "Pow",
    "ReduceProd",
    "ReduceSum",
    "Sub",
    "Sum",
  ]),
  ...rule(false, 0, [
    "Clip",
    "Concat",
    "Expand",
    "Flatten",
    "Gather",
    "GatherElements",
    "GatherND",
    "Identity",
    "Max",
    "Min",
    "Mod",
    "Pad",
    "ReduceMax",
    "ReduceMin",
    "Reshape",
    "ReverseSequence",
    "Sign",
    "Slice",
    "Split",
    "Squeeze",
    "Tile",
    "TopK",
    "Transpose",
    "Trilu",
    "Unsqueeze",
  ]),
  ...rule(true, 1, ["CastLike"]),
  ...rule(false, 1, ["Where"]),
  ...rule(false, undefined, [
    "ArgMax",
    "ArgMin",
    "Cast",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "NonZero",
    "Shape",
    "Size",
  ]),
]);
