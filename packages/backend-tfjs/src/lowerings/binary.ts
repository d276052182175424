import { byteLength, type OpOf, type ValueType } from "@mp/core/graph";
import { type Lowering, type LoweringTable, type TfWriter, type } from "../graph/tf-writer.js";
import { emitT, operandAt, reshape, resultAt, sameDimensions, sizeOf, typeAt } from "./lowering.js";
import { plain } from "./plain.js";
import { sumOf } from "./sum.js";
import { inF32, throughF16 } from "./twins.js";

/** The engine's remainder of floats has one sign convention, its remainder of integers the other. */
const mod: Lowering<"Mod"> = (node, operands, writer) => {
  const { dtype } = typeAt(node, 0);
  return [emitT(node.attributes.fmod ? "Mod" : "FloorMod", operands, dtype, writer)];
};

const add: Lowering<"Add"> = (node, operands, writer) => {
  const a = { name: operandAt(operands, 0), shape: typeAt(node, 0).shape };
  const b = { name: operandAt(operands, 1), shape: typeAt(node, 1).shape };
  return [sumOf(a, b, resultAt(node), writer)];
};

/** The optimizer makes 0 - x a negation, which the engine does not have in u8. There, 255 is -1. */
const sub: Lowering<"Sub"> = (node, operands, writer) => {
  const { dtype } = typeAt(node, 0);
  if (dtype !== "u8") return [emitT("Sub", operands, dtype, writer)];
  const negated = emitT("Mul", [operandAt(operands, 1), writer.scalar(255, "u8")], "u8", writer);
  return [emitT("AddV2", [operandAt(operands, 0), negated], "u8", writer)];
};

type Logical = "And" | "Or";

const logical =
  (op: string): Lowering<Logical> =>
  (_, operands, writer) =>
    writer.emit(op, operands);

/** Up to this size a number is expanded to the shape of the other operand, which is faster. */
const MOST_FILLED_BYTES = 8 * 2 ** 20;

const fills = new WeakMap<TfWriter, Map<string, string>>();

/**
 * A tensor of one number, the same for all nodes that need it: the engine computes it in advance, and keeps as many as
 * there are.
 */
function filled(number: string, { dtype, shape }: ValueType, writer: TfWriter): string {
  const known = fills.get(writer) ?? new Map<string, string>();
  fills.set(writer, known);
  const key = `${number} ${dtype} ${shape.join()}`;
  const fill =
    known.get(key) ??
    writer.one("Fill", [writer.ints(shape), number], { T: type(dtype), index_type: type("i32") });
  known.set(key, fill);
  return fill;
}

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
    return filled(number, { dtype, shape }, writer);
  });
  return [emitT("Select", given, dtype, writer)];
};

export const binaryLowerings: LoweringTable<OpOf<"binary">> = {
  Add: add,
  Sub: sub,
  Mul: plain("Mul"),
  /** Integers truncate toward zero, and fail on a divisor of 0. */
  Div: plain("RealDiv", "TruncateDiv"),
  Pow: plain("Pow"),
  Mod: inF32(mod),
  Min: plain("Minimum"),
  Max: plain("Maximum"),
  Equal: plain("Equal"),
  Greater: plain("Greater"),
  GreaterOrEqual: plain("GreaterEqual"),
  Less: plain("Less"),
  LessOrEqual: plain("LessEqual"),
  And: logical("LogicalAnd"),
  Or: logical("LogicalOr"),
  // Of bools.
  Xor: plain("NotEqual"),
  Where: throughF16(where),
};
