import type { GraphNode, OpOf, SoftmaxOp } from "@mp/core/graph";
import type { Lowering, LoweringTable, TfWriter } from "../graph/tf-writer.js";
import { emitReduce, emitT, operandAt, typeAt } from "./lowering.js";
import { inF32 } from "./twins.js";

/** The engine's own ops normalize the last axis; for any other axis this takes one more pass, but no transposition. */
function alongAxis(op: SoftmaxOp): Lowering<SoftmaxOp> {
  return inF32((node, operands, writer) => {
    const { axis } = node.attributes;
    const { shape } = typeAt(node, 0);
    const normalized = op === "Softmax" ? softmax : logSoftmax;
    return [normalized(operandAt(operands, 0), shape, axis, writer)];
  });
}

function softmax(x: string, shape: readonly number[], axis: number, writer: TfWriter): string {
  if (axis === shape.length - 1) return withNaN(emitT("Softmax", [x], "f32", writer), x, shape, writer);
  const { exponentials, sum } = shifted(x, shape, axis, writer);
  return emitT("RealDiv", [exponentials, sum], "f32", writer);
}

/** A NaN must make its whole row NaN, but the engine's softmax does not propagate it; a maximum does. */
function withNaN(y: string, x: string, shape: readonly number[], writer: TfWriter): string {
  const most = emitReduce("Max", x, { dtype: "f32", shape }, [shape.length - 1], true, writer);
  return emitT("AddV2", [y, emitT("Mul", [most, writer.scalar(0, "f32")], "f32", writer)], "f32", writer);
}

/** log softmax of an f32 tensor. */
export function logSoftmax(x: string, shape: readonly number[], axis: number, writer: TfWriter): string {
  if (axis === shape.length - 1) return emitT("LogSoftmax", [x], "f32", writer);
  const { difference, sum } = shifted(x, shape, axis, writer);
  return emitT("Sub", [difference, emitT("Log", [sum], "f32", writer)], "f32", writer);
}

/** x - max(x), so that no exponential overflows. */
function shifted(x: string, shape: readonly number[], axis: number, writer: TfWriter) {
  const type = { dtype: "f32", shape } as const;
  const difference = emitT("Sub", [x, emitReduce("Max", x, type, [axis], true, writer)], "f32", writer);
  const exponentials = emitT("Exp", [difference], "f32", writer);
  const sum = emitReduce("Sum", exponentials, type, [axis], true, writer);
  return { difference, exponentials, sum };
}

type Normalization = GraphNode<"LayerNormalization" | "RMSNormalization">;

/** Σ x / count over the normalized axes, which are kept with size 1. */
function rowMean(node: Normalization, x: string, writer: TfWriter): string {
  const { shape } = typeAt(node, 0);
  const axes = shape.map((_, axis) => axis).slice(node.attributes.axis);
  return emitReduce("Mean", x, { dtype: "f32", shape }, axes, true, writer);
}

/** 1 / √(mean of squares + ε). */
function inverseRoot(node: Normalization, x: string, writer: TfWriter): string {
  const mean = rowMean(node, emitT("Square", [x], "f32", writer), writer);
  const epsilon = writer.scalar(node.attributes.epsilon, "f32");
  return emitT("Rsqrt", [emitT("AddV2", [mean, epsilon], "f32", writer)], "f32", writer);
}

/** The variance from squared differences, not from the difference of squares. */
const layerNormalization: Lowering<"LayerNormalization"> = (node, operands, writer) => {
  const x = operandAt(operands, 0);
  const mean = rowMean(node, x, writer);
  const difference = emitT("Sub", [x, mean], "f32", writer);
  const inverse = inverseRoot(node, difference, writer);
  const normalized = emitT("Mul", [difference, inverse], "f32", writer);
  const y = emitT("Mul", [normalized, operandAt(operands, 1)], "f32", writer);
  const bias = operands[2];
  return [bias === undefined ? y : emitT("AddV2", [y, bias], "f32", writer), mean, inverse];
};

const rmsNormalization: Lowering<"RMSNormalization"> = (node, operands, writer) => {
  const x = operandAt(operands, 0);
  const normalized = emitT("Mul", [x, inverseRoot(node, x, writer)], "f32", writer);
  return [emitT("Mul", [normalized, operandAt(operands, 1)], "f32", writer)];
};

export const normalizationLowerings: LoweringTable<OpOf<"normalization">> = {
  Softmax: alongAxis("Softmax"),
  LogSoftmax: alongAxis("LogSoftmax"),
  LayerNormalization: inF32(layerNormalization),
  RMSNormalization: inF32(rmsNormalization),
};
