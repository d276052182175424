/** Exact integer arithmetic on engines that compute some i32 operators in f32 and saturate u8. */
import type { GraphNode } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { foldInHalves } from "../lowerings/integers.js";
import { inDType } from "../lowerings/lower-node.js";
import {
  at,
  firstApplicable,
  type OwnLowering,
  type OwnLowerings,
  operandType,
} from "../lowerings/own-lowering.js";

type Op = (name: string, ...operands: readonly string[]) => string;

const emitter =
  (writer: NodeWriter): Op =>
  (name, ...operands) =>
    writer.one(name, operands);

const isI32 = (node: GraphNode): boolean => operandType(node).dtype === "i32";

/** Whether x < y, by the sign of the borrow of x - y. The kernel rounds to f32, which keeps the sign. */
function isLess(x: string, y: string, writer: NodeWriter): string {
  const op = emitter(writer);
  const differ = op("BitwiseXor", x, y);
  const difference = op("BitwiseAnd", op("BitwiseNot", differ), op("Sub", x, y));
  const borrow = op("BitwiseOr", op("BitwiseAnd", x, op("BitwiseNot", y)), difference);
  return op("Less", borrow, writer.scalar(0, "i32"));
}

/** The quotient, rounded toward zero, and the remainder of an i32 division. */
function divide(x: string, y: string, writer: NodeWriter): { quotient: string; rest: string } {
  const op = emitter(writer);
  const number = (value: number): string => writer.scalar(value, "i32");
  const remainder = (quotient: string): string => op("Sub", x, op("Mul", quotient, y));
  const isNegative = (value: string): string => op("Less", value, number(0));
  // The engine's quotient is off by up to 2^9; its quotient of the remainder, by 1.
  let quotient = op("Div", x, y);
  quotient = op("Add", quotient, op("Div", remainder(quotient), y));
  const away = op("Where", op("Xor", isNegative(x), isNegative(y)), number(-1), number(1));
  const step = (condition: string, by: string): string =>
    op("Add", quotient, op("Where", condition, by, number(0)));
  const over = remainder(quotient);
  const isSome = op("Not", op("Equal", over, number(0)));
  quotient = step(op("And", op("Xor", isNegative(over), isNegative(x)), isSome), op("Neg", away));
  const left = remainder(quotient);
  // Compares magnitudes as negative integers, because i32 has one more negative integer than positive ones.
  const below = (value: string): string => op("Where", isNegative(value), value, op("Neg", value));
  quotient = step(op("Not", isLess(below(y), below(left), writer)), away);
  return { quotient, rest: remainder(quotient) };
}

const exactQuotient: OwnLowering<"Div"> = (node, operands, writer) =>
  isI32(node) ? [divide(at(operands, 0), at(operands, 1), writer).quotient] : undefined;

const exactRemainder: OwnLowering<"Mod"> = (node, operands, writer) => {
  if (!isI32(node)) return undefined;
  const op = emitter(writer);
  const y = at(operands, 1);
  const { rest } = divide(at(operands, 0), y, writer);
  if (node.attributes.fmod) return [rest];
  const zero = writer.scalar(0, "i32");
  const hasOtherSign = op("Xor", op("Less", rest, zero), op("Less", y, zero));
  const isOff = op("And", hasOtherSign, op("Not", op("Equal", rest, zero)));
  return [op("Where", isOff, op("Add", rest, y), rest)];
};

const equal: OwnLowering<"Equal"> = (node, [x = "", y = ""], writer) =>
  isI32(node) ? [writer.one("Equal", [writer.one("Sub", [x, y]), writer.scalar(0, "i32")])] : undefined;

const comparison =
  (isSwapped: boolean, isNot: boolean): OwnLowering =>
  (node, [x = "", y = ""], writer) => {
    if (!isI32(node)) return undefined;
    const less = isSwapped ? isLess(y, x, writer) : isLess(x, y, writer);
    return [isNot ? writer.one("Not", [less]) : less];
  };

/** Reduces the upper 16 bits first, then the lower 16 bits of the elements whose upper bits are extreme. */
const extreme: OwnLowering<"ReduceMax" | "ReduceMin"> = (node, [x = ""], writer) => {
  const { axes, keepdims } = node.attributes;
  if (!isI32(node)) return undefined;
  if (axes.length === 0) return [x];
  const op = emitter(writer);
  const mask = (bits: number): string => op("BitwiseAnd", x, writer.scalar(bits, "i32"));
  const reduce = (name: string, kept: boolean): string =>
    writer.one(node.op, [name, writer.ints(axes)], { keepdims: int(kept ? 1 : 0) });
  const upper = mask(-(2 ** 16));
  const isAmong = op("Equal", upper, reduce(upper, true));
  const none = writer.scalar(node.op === "ReduceMax" ? -1 : 2 ** 16, "i32");
  const lower = op("Where", isAmong, mask(2 ** 16 - 1), none);
  return [op("Add", reduce(upper, keepdims), reduce(lower, keepdims))];
};

const wrapping: OwnLowering<"Add" | "Sub" | "Mul" | "Div"> = (node, operands, writer) => {
  if (operandType(node).dtype !== "u8") return undefined;
  const [x = "", y = ""] = operands.map((name) => writer.cast(name, "i32"));
  const result = writer.one(node.op, [x, y]);
  return [writer.cast(writer.one("BitwiseAnd", [result, writer.scalar(255, "i32")]), "u8")];
};

const foldBytes: OwnLowering<"ReduceSum" | "ReduceProd"> = (node, operands, writer, standard) => {
  if (operandType(node).dtype !== "u8") return undefined;
  const wide = foldInHalves(
    inDType(node, "i32") as GraphNode<typeof node.op>,
    [writer.cast(at(operands, 0), "i32")],
    writer,
    standard,
  );
  if (wide === undefined) return undefined;
  return [writer.cast(writer.one("BitwiseAnd", [at(wide, 0), writer.scalar(255, "i32")]), "u8")];
};

export const exactIntegers: OwnLowerings = {
  Div: firstApplicable(exactQuotient, wrapping),
  Mod: exactRemainder,
  Equal: equal,
  Less: comparison(false, false) as OwnLowering<"Less">,
  Greater: comparison(true, false) as OwnLowering<"Greater">,
  GreaterOrEqual: comparison(false, true) as OwnLowering<"GreaterOrEqual">,
  LessOrEqual: comparison(true, true) as OwnLowering<"LessOrEqual">,
  ReduceSum: foldBytes,
  ReduceProd: foldBytes,
  ReduceMax: extreme,
  ReduceMin: extreme,
  Add: wrapping as OwnLowering<"Add">,
  Sub: wrapping as OwnLowering<"Sub">,
  Mul: wrapping as OwnLowering<"Mul">,
};
