/** Forms that keep NaN, for engines whose own operators lose it. */
import { isComputeFloat, type Op } from "@mp/core/graph";
import { int } from "@mp/onnx/write";
import { at, firstOf, type OwnLowering, type OwnLowerings, operandType } from "../lowerings/own-lowering.js";

/** A comparison with NaN is false, which selects NaN. */
const relu: OwnLowering<"Relu"> = (node, [x = ""], writer) => {
  const zero = writer.scalar(0, operandType(node).dtype);
  return [writer.one("Where", [writer.one("Less", [x, zero]), zero, x])];
};

const clip: OwnLowering<"Clip"> = (node, operands, writer) => {
  const { min, max } = node.attributes;
  const { dtype } = operandType(node);
  if (!isComputeFloat(dtype)) return undefined;
  let x = at(operands, 0);
  for (const [bound, comparison] of [
    [min, "Less"],
    [max, "Greater"],
  ] as const) {
    if (bound === undefined) continue;
    const limit = writer.scalar(bound, dtype);
    x = writer.one("Where", [writer.one(comparison, [x, limit]), limit, x]);
  }
  return [x];
};

/** The first operand where it is further or NaN; otherwise the second. */
const extreme =
  (comparison: "Less" | "Greater"): OwnLowering<"Min" | "Max"> =>
  (node, [a = "", b = ""], writer) => {
    if (!isComputeFloat(operandType(node).dtype)) return undefined;
    const isFirst = writer.one("Or", [writer.one(comparison, [a, b]), writer.one("IsNaN", [a])]);
    return [writer.one("Where", [isFirst, a, b])];
  };

/** Puts NaN back. */
const restored =
  (other: OwnLowering | undefined): OwnLowering =>
  (node, operands, writer, standard) => {
    if (!isComputeFloat(operandType(node).dtype)) return undefined;
    const x = at(operands, 0);
    const result = at(other?.(node, operands, writer, standard) ?? standard(operands), 0);
    return [writer.one("Where", [writer.one("IsNaN", [x]), x, result])];
  };

/** NaN along the axis where any element is NaN, or infinite, which leaves nothing of the others. */
const row: OwnLowering<"Softmax" | "LogSoftmax"> = (node, operands, writer, standard) => {
  const { axis } = node.attributes;
  const x = at(operands, 0);
  const infinite = writer.one("Equal", [x, writer.scalar(Number.POSITIVE_INFINITY, operandType(node).dtype)]);
  const marks = writer.cast(writer.one("Or", [writer.one("IsNaN", [x]), infinite]), "f32");
  const count = writer.one("ReduceSum", [marks, writer.ints([axis])], { keepdims: int(1) });
  const isSpoilt = writer.one("Greater", [count, writer.scalar(0, "f32")]);
  const nan = writer.scalar(Number.NaN, operandType(node).dtype);
  return [writer.one("Where", [isSpoilt, nan, at(standard(operands), 0)])];
};

const own: OwnLowerings = {
  Softmax: row,
  LogSoftmax: row,
  Relu: relu,
  Clip: clip,
  Min: extreme("Less"),
  Max: extreme("Greater"),
};

/** For each op that loses NaN a form that does not. @param others forms of the ops for other reasons */
export const keepingNaN = (ops: ReadonlySet<Op>, others: OwnLowerings): OwnLowerings =>
  Object.fromEntries(
    [...ops].map((op) => {
      const other = others[op] as OwnLowering | undefined;
      const kept = own[op] as OwnLowering | undefined;
      if (kept === undefined) return [op, restored(other)];
      return [op, other === undefined ? kept : firstOf(kept, other)];
    }),
  );
