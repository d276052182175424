import { byteLength, type OpOf, sameShape } from "@mp/graph";
import { type } from "../graph/attributes.js";
import { expandIfFar } from "../graph/term.js";
import { inF32, throughF16 } from "./in-f32.js";
import { count, type Lowering, type LoweringTable, resultAt } from "./lowering.js";
import { plain } from "./plain.js";
import { sum } from "./sum.js";
import { fill } from "./zeros.js";

/** Selects the engine's op by `fmod`: the remainder has the sign of the dividend (true) or the divisor. */
const mod: Lowering<"Mod"> = (node, [a, b]) => [a.op(node.attributes.fmod ? "Mod" : "FloorMod", b)];

/** Computes u8 as a + 255 · b, because the optimizer would turn 0 - x into Neg, which the engine lacks for u8. */
const sub: Lowering<"Sub"> = (_, [a, b]) => [a.dtype === "u8" ? a.add(b.mul(255)) : a.sub(b)];

const logical =
  (op: string): Lowering<"And" | "Or"> =>
  (node, operands, writer) => {
    const result = resultAt(node);
    return [writer.term(op, expandIfFar(operands, result.shape), {}, result)];
  };

/** Largest result, in bytes, for which `where` expands a single number to the result's shape. */
const MOST_FILLED_BYTES = 8 * 2 ** 20;

/**
 * Expands a single number to the other operand's shape, because the engine selects several times as fast between equal
 * shapes. All nodes share the expanded number, because the engine computes it in advance and keeps every copy.
 */
const where: Lowering<"Where"> = (node, operands, writer) => {
  const [condition, yes, no] = operands;
  const { dtype } = yes;
  const { shape } = resultAt(node);
  const isWhole = operands.map((operand) => sameShape(operand.shape, shape));
  const isNumber = operands.map((operand) => count(operand.shape) === 1);
  const oneNumber = isWhole[0] && ((isWhole[1] && isNumber[2]) || (isWhole[2] && isNumber[1]));
  if (!oneNumber || byteLength({ dtype, shape }) > MOST_FILLED_BYTES) return [condition.select(yes, no)];
  const filled = operands.map((operand, index) => {
    if (isWhole[index]) return operand;
    const number = operand.reshape([]);
    const key = `fill ${number.name} ${dtype} ${shape.join()}`;
    return writer.remember(key, () => fill(number, dtype, shape, writer));
  });
  return [writer.term("Select", filled, { T: type(dtype) }, { dtype, shape })];
};

export const binaryLowerings: LoweringTable<OpOf<"binary">> = {
  Add: (node, [a, b]) => [sum(a, b, resultAt(node).shape)],
  Sub: sub,
  Mul: plain("Mul"),
  /** Integer division truncates toward zero and fails on a divisor of 0. */
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
  // Its operands are bools.
  Xor: plain("NotEqual"),
  Where: throughF16(where),
};
