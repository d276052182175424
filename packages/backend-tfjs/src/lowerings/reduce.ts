import type { OpOf, ReduceOp } from "@mp/core/graph";
import { bool, type Lowering, type LoweringTable, type TfWriter, type } from "../graph/tf-writer.js";
import { emitReduce, emitT, operandAt, reshape, resultAt, typeAt } from "./lowering.js";
import { searchLowerings } from "./search.js";
import { inF32 } from "./twins.js";

const reduce =
  (op: "Sum" | "Mean" | "Max" | "Min" | "Prod"): Lowering<ReduceOp> =>
  (node, operands, writer) => {
    const { axes, keepdims } = node.attributes;
    return [emitReduce(op, operandAt(operands, 0), typeAt(node, 0), axes, keepdims, writer)];
  };

/** A sum of f(x), and a function of that sum; halves are computed in f32 throughout. */
function sumOf(before: string | undefined, after?: string): Lowering<ReduceOp> {
  return inF32((node, operands, writer) => {
    const { axes, keepdims } = node.attributes;
    const x = operandAt(operands, 0);
    const terms = before === undefined ? x : emitT(before, [x], "f32", writer);
    const sum = emitReduce("Sum", terms, typeAt(node, 0), axes, keepdims, writer);
    return [after === undefined ? sum : emitT(after, [sum], "f32", writer)];
  });
}

/** log Σ exp(x), relative to the maximum where that is finite, so that no intermediate value overflows. */
const logSumExp: Lowering<"ReduceLogSumExp"> = (node, operands, writer) => {
  const { axes, keepdims } = node.attributes;
  const x = operandAt(operands, 0);
  const { shape } = typeAt(node, 0);
  const most = emitReduce("Max", x, { dtype: "f32", shape }, axes, true, writer);
  const shift = finiteOrZero(most, writer);
  const terms = emitT("Exp", [emitT("Sub", [x, shift], "f32", writer)], "f32", writer);
  const sum = emitReduce("Sum", terms, { dtype: "f32", shape }, axes, keepdims, writer);
  const kept = shape.map((dimension, axis) => (axes.includes(axis) ? 1 : dimension));
  const back = keepdims
    ? shift
    : emitReduce("Max", shift, { dtype: "f32", shape: kept }, axes, false, writer);
  return [emitT("AddV2", [emitT("Log", [sum], "f32", writer), back], "f32", writer)];
};

function finiteOrZero(x: string, writer: TfWriter): string {
  return emitT(
    "SelectV2",
    [emitT("IsFinite", [x], "f32", writer), x, writer.scalar(0, "f32")],
    "f32",
    writer,
  );
}

/** A sum of squares, and a function of it; over all elements it is 2 · the engine's L2 loss, which reads x once. */
function sumOfSquares(after?: string): Lowering<ReduceOp> {
  const byAxes = sumOf("Square", after);
  return inF32((node, operands, writer) => {
    const { dtype, shape } = typeAt(node, 0);
    const { axes } = node.attributes;
    if (dtype !== "f32" || axes.length < shape.length) return byAxes(node, operands, writer);
    const half = emitT("L2Loss", [operandAt(operands, 0)], "f32", writer);
    const sum = emitT("Mul", [half, writer.scalar(2, "f32")], "f32", writer);
    const result = after === undefined ? sum : emitT(after, [sum], "f32", writer);
    return [reshape(result, "f32", [], resultAt(node).shape, writer)];
  });
}

const cumSum: Lowering<"CumSum"> = (node, operands, writer) => {
  const { axis, exclusive, reverse } = node.attributes;
  return writer.emit("Cumsum", [operandAt(operands, 0), writer.scalar(axis, "i32")], {
    T: type(typeAt(node, 0).dtype),
    Tidx: type("i32"),
    exclusive: bool(exclusive),
    reverse: bool(reverse),
  });
};

export const reduceLowerings: LoweringTable<OpOf<"reduce">> = {
  ReduceSum: reduce("Sum"),
  ReduceMean: reduce("Mean"),
  ReduceMax: reduce("Max"),
  ReduceMin: reduce("Min"),
  /** The engine computes products, and running sums, in the half itself. */
  ReduceProd: inF32(reduce("Prod")),
  ReduceL1: sumOf("Abs"),
  ReduceL2: sumOfSquares("Sqrt"),
  ReduceLogSum: sumOf(undefined, "Log"),
  ReduceLogSumExp: inF32(logSumExp),
  ReduceSumSquare: sumOfSquares(),
  ...searchLowerings,
  CumSum: inF32(cumSum),
};
