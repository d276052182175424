import { bool, type Lowering, type LoweringTable, type } from "../graph/tf-writer.js";
import { plain } from "./elementwise.js";
import { emitT, resultAt } from "./lowering.js";
import { throughF16 } from "./twins.js";

type Logical = "Not" | "And" | "Or";

const logical =
  (op: string): Lowering<Logical> =>
  (_, operands, writer) =>
    writer.emit(op, operands);

/** Of bools, equal and unequal are "both or none" and "exclusive or". */
const equality =
  (op: "Equal" | "NotEqual"): Lowering<"Equal" | "Xor"> =>
  (node, operands, writer) => {
    const dtype = node.inputs[0]?.dtype ?? "bool";
    return writer.emit(op, operands, { T: type(dtype), incompatible_shape_error: bool(true) });
  };

type ComparisonOp =
  | "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "IsNaN" | "IsInf" | "Where" | "Xor"; // biome-ignore format: one list

export const comparisonLowerings: LoweringTable<ComparisonOp | Logical> = {
  Equal: equality("Equal"),
  Greater: plain("Greater"),
  GreaterOrEqual: plain("GreaterEqual"),
  Less: plain("Less"),
  LessOrEqual: plain("LessEqual"),
  IsNaN: plain("IsNan"),
  IsInf: plain("IsInf"),
  Not: logical("LogicalNot"),
  And: logical("LogicalAnd"),
  Or: logical("LogicalOr"),
  Xor: equality("NotEqual"),
  Where: throughF16((node, operands, writer) => [emitT("SelectV2", operands, resultAt(node).dtype, writer)]),
};
