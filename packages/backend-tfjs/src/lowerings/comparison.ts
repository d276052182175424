import { byteLength } from "@mp/core/graph";
import { type Lowering, type LoweringTable, type } from "../graph/tf-writer.js";
import { plain } from "./elementwise.js";
import { emitT, operandAt, reshape, resultAt, sameDimensions, sizeOf, typeAt } from "./lowering.js";
import { throughF16 } from "./twins.js";

type Logical = "And" | "Or";

const logical =
  (op: string): Lowering<Logical> =>
  (_, operands, writer) =>
    writer.emit(op, operands);

/** TensorFlow's graph optimizer rewrites LogicalNot over "less" to "greater or equal", which is wrong for NaN. */
const not: Lowering<"Not"> = (_, operands, writer) => [
  emitT("NotEqual", [operandAt(operands, 0), writer.scalar(1, "bool")], "bool", writer),
];

/** Up to this size a number is expanded to the shape of the other operand, which is faster. */
const MOST_FILLED_BYTES = 8 * 2 ** 20;

/** The engine selects between tensors of one shape several times as fast as between a tensor and a number. */
const where: Lowering<"Where"> = (node, operands, writer) => {
  const { dtype, shape } = resultAt(node);
  const isWhole = node.inputs.map((input) => sameDimensions(input.shape, shape));
  const isNumber = node.inputs.map((input) => sizeOf(input.shape) === 1);
  const [condition, yes, no] = isWhole;
  const oneNumber = condition && ((yes && isNumber[2]) || (no && isNumber[1]));
  if (!oneNumber || byteLength(resultAt(node)) > MOST_FILLED_BYTES)
    return [emitT("SelectV2", operands, dtype, writer)];
  const given = operands.map((name, index) => {
    if (isWhole[index]) return name;
    const number = reshape(name, dtype, typeAt(node, index).shape, [], writer);
    return writer.one("Fill", [writer.ints(shape), number], { T: type(dtype), index_type: type("i32") });
  });
  return [emitT("Select", given, dtype, writer)];
};

type ComparisonOp =
  | "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "IsNaN" | "IsInf" | "Where" | "Xor"; // biome-ignore format: one list

export const comparisonLowerings: LoweringTable<ComparisonOp | Logical | "Not"> = {
  Equal: plain("Equal"),
  Greater: plain("Greater"),
  GreaterOrEqual: plain("GreaterEqual"),
  Less: plain("Less"),
  LessOrEqual: plain("LessEqual"),
  IsNaN: plain("IsNan"),
  IsInf: plain("IsInf"),
  Not: not,
  And: logical("LogicalAnd"),
  Or: logical("LogicalOr"),
  // Of bools.
  Xor: plain("NotEqual"),
  Where: throughF16(where),
};
