/** The result of an operator for integers of few bits that are held by wider ones. */
export interface SmallIntegerRule {
  /** The operand whose type the result has; without one the result is of another type. */
  readonly of?: number;
  /** Whether the result may leave the range of the type. What stays in it needs nothing. */
  readonly wraps: boolean;
}

const rule = (wraps: boolean, of: number | undefined, ops: readonly string[]) =>
  ops.map((op) => [op, { wraps, ...(of === undefined ? {} : { of }) }] as const);

/**
 * By operator; others are refused. Results that wrap, such as sums, products and differences, are correct modulo the size of
 * the type when they are computed in more bits.
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
