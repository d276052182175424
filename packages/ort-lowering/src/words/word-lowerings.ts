/**
 * Lowerings of the 64-bit nodes that `splitWords` leaves. A counter is on its way from words to `RandomBits`, which takes the
 * words themselves; random bits and their quotients are u32.
 */
import type { ConstantOf } from "../lowerings/division.js";
import { type OwnLowering, type OwnLowerings, operandType } from "../lowerings/own-lowering.js";
import { isWide } from "./packed.js";
import { randomWords } from "./random-words.js";
import { Unsigned } from "./unsigned.js";

/** Nothing reads the name: lowerings of the nodes that read the value ask for the constant. */
const constant: OwnLowering<"Constant"> = ({ attributes: { value } }, _operands, writer) =>
  isWide(value) ? [writer.unread("words")] : undefined;

const asWords: OwnLowering<"Mul" | "ReduceSum"> = (node, [words = ""]) =>
  isWide(operandType(node)) ? [words] : undefined;

const cast: OwnLowering<"Cast"> = (node, [x = ""], writer) => {
  const { to } = node.attributes;
  if (to === "u64") return [x];
  return isWide(operandType(node)) ? [writer.cast(x, to)] : undefined;
};

const quotient =
  (constantOf: ConstantOf): OwnLowering<"Div"> =>
  (node, [x = ""], writer) => {
    const divisor = node.inputs[1];
    if (divisor === undefined || !isWide(divisor)) return undefined;
    const [number] = (constantOf(divisor)?.data ?? []) as BigUint64Array;
    if (number === undefined) throw new Error("internal: random bits are divided by a number only");
    return [new Unsigned(writer).quotient(x, Number(number))];
  };

/** Asked before other lowerings of these operators. */
export const wordLowerings = (constantOf: ConstantOf): OwnLowerings => ({
  Constant: constant,
  Cast: cast,
  Mul: asWords,
  ReduceSum: asWords,
  Div: quotient(constantOf),
  RandomBits: randomWords,
});
