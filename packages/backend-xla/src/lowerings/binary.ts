import { isFloat, type OpOf } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import { dtypeOf, type Operand } from "../stablehlo/operand.js";
import type { BinaryOperation, Comparison } from "../stablehlo/operations.js";
import { comparisonType } from "../stablehlo/tensor-type.js";
import { inF32, type Lowering, type LoweringTable, resultType } from "./lowering.js";

type BinaryOp = Exclude<OpOf<"binary">, "Where">;
type Pair = (emitter: Emitter, a: Operand, b: Operand) => Operand;

/** Lowers an operator whose operands broadcast to the result's shape. */
const pairwise =
  (f: Pair): Lowering<BinaryOp> =>
  (emitter, node, [a, b]) => {
    const { shape } = resultType(node);
    return [f(emitter, emitter.expand(a, shape), emitter.expand(b, shape))];
  };

const plain = (operation: BinaryOperation): Lowering<BinaryOp> =>
  pairwise((emitter, a, b) => emitter.binary(operation, a, b));

const compare = (direction: Comparison): Lowering<BinaryOp> =>
  pairwise((emitter, a, b) => emitter.compare(direction, a, b));

/** Replaces a divisor of 0 by 1 in integers, because XLA would crash the process when it folds a division by 0. */
const withoutZero = (emitter: Emitter, b: Operand): Operand =>
  isFloat(dtypeOf(b)) ? b : emitter.select(emitter.compare("EQ", b, 0), emitter.like(b, 1), b);

const divide: Pair = (emitter, a, b) => emitter.binary("divide", a, withoutZero(emitter, b));

/** The remainder with the sign of the dividend. */
const remainder: Pair = (emitter, a, b) => emitter.binary("remainder", a, withoutZero(emitter, b));

/** The remainder with the sign of the divisor. */
const floorRemainder: Pair = (emitter, a, b) => {
  const rest = remainder(emitter, a, b);
  if (comparisonType(dtypeOf(a)) === "UNSIGNED") return rest;
  const isNegative = (x: Operand): Operand => emitter.compare("LT", x, 0);
  const differ = emitter.compare("NE", isNegative(rest), isNegative(b));
  const wrong = emitter.binary("and", emitter.compare("NE", rest, 0), differ);
  return emitter.select(wrong, emitter.binary("add", rest, b), rest);
};

const where: Lowering<"Where"> = (emitter, node, [condition, yes, no]) => {
  const { shape } = resultType(node);
  const [c, x, y] = [condition, yes, no].map((operand) => emitter.expand(operand, shape)) as [
    Operand,
    Operand,
    Operand,
  ];
  return [emitter.select(c, x, y)];
};

export const binaryLowerings: LoweringTable<OpOf<"binary">> = {
  Add: plain("add"),
  Sub: plain("subtract"),
  Mul: plain("multiply"),
  Div: inF32(pairwise(divide)),
  Pow: inF32(plain("power")),
  Mod: inF32((emitter, node, operands, emitGraph) =>
    pairwise(node.attributes.fmod ? remainder : floorRemainder)(emitter, node, operands, emitGraph),
  ),
  Min: plain("minimum"),
  Max: plain("maximum"),
  Equal: compare("EQ"),
  Greater: compare("GT"),
  GreaterOrEqual: compare("GE"),
  Less: compare("LT"),
  LessOrEqual: compare("LE"),
  And: plain("and"),
  Or: plain("or"),
  Xor: plain("xor"),
  Where: where,
};
