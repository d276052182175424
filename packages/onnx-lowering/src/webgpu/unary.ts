import { isComputeFloat } from "@mp/graph";
import { elu, erf, exp, log, tanh } from "../lowerings/accurate-functions.js";
import { at, type OwnLowering, type OwnLoweringsOf, operandType } from "../lowerings/own-lowering.js";

/** Writes Relu as a Max with 0, which keeps NaN; the Relu kernel gives 0 for NaN. */
const relu: OwnLowering<"Relu"> = (node, operands, writer) => [
  writer.one("Max", [at(operands, 0), writer.scalar(0, operandType(node).dtype)]),
];

/** Writes Clip as Max and Min, which keep NaN; the Clip kernel gives a bound for NaN. */
const clip: OwnLowering<"Clip"> = (node, operands, writer) => {
  const { min, max } = node.attributes;
  const { dtype } = operandType(node);
  if (!isComputeFloat(dtype)) return undefined;
  let x = at(operands, 0);
  if (min !== undefined) x = writer.one("Max", [x, writer.scalar(min, dtype)]);
  if (max !== undefined) x = writer.one("Min", [x, writer.scalar(max, dtype)]);
  return [x];
};

export const unaryLowerings: OwnLoweringsOf<"unary"> = {
  Relu: relu,
  Clip: clip,
  Exp: exp,
  Log: log,
  Tanh: tanh,
  Erf: erf,
  Elu: elu,
};
