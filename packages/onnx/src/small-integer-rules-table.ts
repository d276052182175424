/** The type of an operator's result, and whether it wraps, if an integer type is read as a wider one. */
export interface SmallIntegerRule {
  /** Index of the operand that has the result's type; absent if the result's type is not substituted. */
  readonly of?: number;
  /** Whether the result may exceed the range of its type and must be wrapped. */
  readonly wraps: boolean;
}

const rule = (wraps: boolean, of: number | undefined, ops: readonly string[]) =>
  ops.map((op) => [op, { wraps, ...(of === undefined ? {} : { of }) }] as const);

/**
 * The rules by operator; other operators are refused. Results that wrap, such as sums and products, are
 * computed with more bits and are then correct modulo the number of values of the type.
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
