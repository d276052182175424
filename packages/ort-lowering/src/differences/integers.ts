/** Division of i32 for engines that divide in f32. */
import type { NodeWriter } from "@mp/onnx/write";
import { at, type OwnLowering, operandType } from "../lowerings/own-lowering.js";

/** A quotient toward zero, and what is left of the dividend. */
function divided(x: string, y: string, writer: NodeWriter): { quotient: string; rest: string } {
  const op = (name: string, ...operands: readonly string[]): string => writer.one(name, operands);
  const number = (value: number): string => writer.scalar(value, "i32");
  const restOf = (quotient: string): string => op("Sub", x, op("Mul", quotient, y));
  const isNegative = (value: string): string => op("Less", value, number(0));
  // The engine's is off by up to 2^9; that of the rest by 1.
  let quotient = op("Div", x, y);
  quotient = op("Add", quotient, op("Div", restOf(quotient), y));
  const away = op("Where", op("Xor", isNegative(x), isNegative(y)), number(-1), number(1));
  const moved = (condition: string, by: string): string =>
    op("Add", quotient, op("Where", condition, by, number(0)));
  const over = restOf(quotient);
  const hasOtherSign = op(
    "And",
    op("Xor", isNegative(over), isNegative(x)),
    op("Not", op("Equal", over, number(0))),
  );
  quotient = moved(hasOtherSign, op("Neg", away));
  const left = restOf(quotient);
  // Magnitudes as negative numbers, of which there is one more.
  const below = (value: string): string => op("Where", isNegative(value), value, op("Neg", value));
  quotient = moved(op("LessOrEqual", below(left), below(y)), away);
  return { quotient, rest: restOf(quotient) };
}

export const exactQuotient: OwnLowering<"Div"> = (node, operands, writer) =>
  operandType(node).dtype === "i32"
    ? [divided(at(operands, 0), at(operands, 1), writer).quotient]
    : undefined;

export const exactRemainder: OwnLowering<"Mod"> = (node, operands, writer) => {
  if (operandType(node).dtype !== "i32") return undefined;
  const y = at(operands, 1);
  const { rest } = divided(at(operands, 0), y, writer);
  if (node.attributes.fmod) return [rest];
  const zero = writer.scalar(0, "i32");
  const hasOtherSign = writer.one("Xor", [writer.one("Less", [rest, zero]), writer.one("Less", [y, zero])]);
  const isOff = writer.one("And", [hasOtherSign, writer.one("Not", [writer.one("Equal", [rest, zero])])]);
  return [writer.one("Where", [isOff, writer.one("Add", [rest, y]), rest])];
};
