import { isComputeFloat } from "@mp/graph";
import { inF32 } from "../lowerings/in-f32.js";
import { reshape } from "../lowerings/operators.js";
import { at, type OwnLowering, type OwnLoweringsOf, operandType } from "../lowerings/own-lowering.js";

/** Computes Sign so that NaN stays NaN; the kernel gives 0 for NaN. */
const sign: OwnLowering<"Sign"> = (node, operands, writer) => {
  if (!isComputeFloat(operandType(node).dtype)) return undefined;
  const signOrNaN = (x: string): string =>
    writer.one("Where", [writer.one("IsNaN", [x]), x, writer.one("Sign", [x])]);
  return [inF32(node, at(operands, 0), writer, signOrNaN)];
};

/** Leaves zeros as they are; the kernel multiplies them by alpha, which changes their sign if alpha is negative. */
const leakyRelu: OwnLowering<"LeakyRelu"> = (node, operands, writer) => {
  const { alpha } = node.attributes;
  if (alpha > 0 || Object.is(alpha, 0)) return undefined;
  return [
    inF32(node, at(operands, 0), writer, (x) => {
      const isBelow = writer.one("Less", [x, writer.scalar(0, "f32")]);
      return writer.one("Where", [isBelow, writer.one("Mul", [x, writer.scalar(alpha, "f32")]), x]);
    }),
  ];
};

/** Gives a scalar one dimension, which the kernel requires. */
const gelu: OwnLowering<"Gelu"> = (node, operands, writer, standard) => {
  if (operandType(node).shape.length > 0) return undefined;
  return [reshape(at(standard([reshape(at(operands, 0), [1], writer)]), 0), [], writer)];
};

/** Casts f8 to itself by Identity (no cast kernel), and to bf16 through f32 (the kernel loses subnormals). */
const cast: OwnLowering<"Cast"> = (node, operands, writer) => {
  const { to } = node.attributes;
  const { dtype } = operandType(node);
  if (dtype !== "f8e4m3" && dtype !== "f8e5m2") return undefined;
  if (to === dtype) return [writer.one("Identity", [at(operands, 0)])];
  return to === "bf16" ? [writer.cast(writer.cast(at(operands, 0), "f32"), to)] : undefined;
};

export const unaryLowerings: OwnLoweringsOf<"unary"> = {
  Sign: sign,
  LeakyRelu: leakyRelu,
  Gelu: gelu,
  Cast: cast,
};
