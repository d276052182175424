import { tensor } from "@mp/core";
import type { GraphNode } from "@mp/core/graph";
import { type Lowering, type LoweringTable, type TfWriter, type } from "../graph/tf-writer.js";
import { coordinate, gather, packed } from "./indices.js";
import { emitReduce, emitT, operandAt, reshape, sizeOf, typeAt } from "./lowering.js";
import { logSoftmax } from "./normalization.js";
import { inF32 } from "./twins.js";

type LossOp = "SoftmaxCrossEntropyLoss" | "NegativeLogLikelihoodLoss";

/** Scores as [N, C, D], labels as [N, D]. */
interface LossShape {
  readonly batch: number;
  readonly classes: number;
  readonly inner: number;
}

function shapeOf(node: GraphNode<LossOp>): LossShape {
  const { shape } = typeAt(node, 0);
  return { batch: shape[0] ?? 0, classes: shape[1] ?? 0, inner: sizeOf(shape.slice(2)) };
}

/** Marks the labels to ignore, if there may be any; they are set to class 0 until they are removed. */
function ignored(node: GraphNode<LossOp>, labels: string, writer: TfWriter) {
  const { ignoreIndex } = node.attributes;
  if (ignoreIndex === undefined) return { labels };
  const isIgnored = emitT("Equal", [labels, writer.scalar(ignoreIndex, "i32")], "i32", writer);
  return {
    labels: emitT("SelectV2", [isIgnored, writer.scalar(0, "i32"), labels], "i32", writer),
    isIgnored,
  };
}

/** The log-probability of each label, [N · D]; a label outside the classes fails the run. */
function picked(logs: string, labels: string, node: GraphNode<LossOp>, writer: TfWriter): string {
  const { batch, classes, inner } = shapeOf(node);
  const { shape } = typeAt(node, 0);
  if (inner === 1) {
    const rows = reshape(logs, "f32", shape, [batch, classes], writer);
    return gather(rows, labels, "f32", writer, { axis: 1, batchDims: 1 });
  }
  const blocks = reshape(logs, "f32", shape, [batch, classes, inner], writer);
  const grid = [batch, inner];
  const line = reshape(labels, "i32", [batch * inner], grid, writer);
  const places = packed([coordinate(grid, 0, writer), line, coordinate(grid, 1, writer)], 2, writer);
  const found = writer.one("GatherNd", [blocks, places], { Tparams: type("f32"), Tindices: type("i32") });
  return reshape(found, "f32", grid, [batch * inner], writer);
}

/** -weight · log-probability at each label that is not ignored, reduced; `mean` divides by the sum of their weights. */
function lossOf(
  logs: string,
  node: GraphNode<LossOp>,
  operands: readonly string[],
  writer: TfWriter,
): string {
  const { reduction } = node.attributes;
  const { shape } = typeAt(node, 1);
  const count = sizeOf(shape);
  const given = reshape(operandAt(operands, 1), "i32", shape, [count], writer);
  const { labels, isIgnored } = ignored(node, given, writer);
  const counted = (x: string): string =>
    isIgnored === undefined ? x : emitT("SelectV2", [isIgnored, writer.scalar(0, "f32"), x], "f32", writer);
  const weights = operands[2];
  const negative = emitT("Neg", [picked(logs, labels, node, writer)], "f32", writer);
  const each = weights === undefined ? undefined : gather(weights, labels, "f32", writer, { axis: 0 });
  const losses = counted(each === undefined ? negative : emitT("Mul", [negative, each], "f32", writer));
  const rows = { dtype: "f32", shape: [count] } as const;
  if (reduction === "none") return reshape(losses, "f32", [count], shape, writer);
  const sum = emitReduce("Sum", losses, rows, [0], false, writer);
  if (reduction === "sum") return sum;
  if (each === undefined && isIgnored === undefined) {
    return emitT("RealDiv", [sum, writer.scalar(count, "f32")], "f32", writer);
  }
  const ones = writer.constant(tensor(new Float32Array(count).fill(1)));
  const total = emitReduce("Sum", counted(each ?? ones), rows, [0], false, writer);
  return emitT("RealDiv", [sum, total], "f32", writer);
}

/** The loss is computed from the log-probabilities before those are rounded to the scores' dtype. */
const crossEntropy: Lowering<"SoftmaxCrossEntropyLoss"> = (node, operands, writer) => {
  const logs = logSoftmax(operandAt(operands, 0), typeAt(node, 0).shape, 1, writer);
  return [lossOf(logs, node, operands, writer), logs];
};

const likelihood: Lowering<"NegativeLogLikelihoodLoss"> = (node, operands, writer) => [
  lossOf(operandAt(operands, 0), node, operands, writer),
];

export const lossLowerings: LoweringTable<LossOp> = {
  SoftmaxCrossEntropyLoss: inF32(crossEntropy),
  NegativeLogLikelihoodLoss: inF32(likelihood),
};
