/** Losses of labels, of rows of scores: WebGPU has no kernel of ONNX's own, and CUDA's loses digits. */
import type { DType } from "@mp/core";
import type { GraphNode, OpOf } from "@mp/core/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { reshape, sizeOf, transpose } from "./blocked-layout.js";
import { logSoftmax } from "./log-softmax.js";
import { at, type OwnLowering, type OwnLoweringsOf, operandType } from "./own-lowering.js";

type Loss = GraphNode<OpOf<"loss">>;

/** [N, C, d…] as rows of classes, and back. */
function rowsOf(node: Loss, writer: NodeWriter) {
  const { shape } = operandType(node);
  const [batch = 1, classes = 1, ...rest] = shape;
  const perm = [0, ...rest.map((_, index) => index + 2), 1];
  const back = [0, shape.length - 1, ...rest.map((_, index) => index + 1)];
  const rows = batch * sizeOf(rest);
  return {
    rows,
    flat: (scores: string): string =>
      rest.length === 0 ? scores : reshape(transpose(scores, perm, writer), [rows, classes], writer),
    whole: (flat: string): string =>
      rest.length === 0 ? flat : transpose(reshape(flat, [batch, ...rest, classes], writer), back, writer),
    each: (losses: string): string =>
      rest.length === 0 ? losses : reshape(losses, [batch, ...rest], writer),
  };
}

/** The loss of rows of logarithms of probabilities. */
function lossOf(
  node: Loss,
  logarithms: string,
  [labels = "", weights]: readonly (string | undefined)[],
  { rows, each: shaped }: Pick<ReturnType<typeof rowsOf>, "rows" | "each">,
  writer: NodeWriter,
): string {
  const { reduction, ignoreIndex } = node.attributes;
  const { dtype } = operandType(node);
  const flat = reshape(labels, [rows], writer);
  const ignored =
    ignoreIndex === undefined ? undefined : writer.one("Equal", [flat, writer.scalar(ignoreIndex, "i32")]);
  const masked = (x: string, of: DType): string =>
    ignored === undefined ? x : writer.one("Where", [ignored, writer.scalar(0, of), x]);
  const places = masked(flat, "i32");
  const index = reshape(places, [rows, 1], writer);
  const picked = writer.one("GatherElements", [logarithms, index], { axis: int(1) });
  const losses = writer.one("Neg", [reshape(picked, [rows], writer)]);
  const weight =
    weights === undefined ? undefined : writer.one("Gather", [weights, places], { axis: int(0) });
  const each = masked(weight === undefined ? losses : writer.one("Mul", [losses, weight]), dtype);
  if (reduction === "none") return shaped(each);
  const reduced = (op: "ReduceSum" | "ReduceMean", x: string): string =>
    writer.one(op, [x, writer.ints([0])], { keepdims: int(0) });
  if (reduction === "sum") return reduced("ReduceSum", each);
  if (weight === undefined && ignored === undefined) return reduced("ReduceMean", each);
  const counted = masked(weight ?? writer.scalar(1, dtype), dtype);
  return writer.one("Div", [reduced("ReduceSum", each), reduced("ReduceSum", counted)]);
}

/** The loss of scores of f32, the only dtype it is asked for. */
const crossEntropy: OwnLowering<"SoftmaxCrossEntropyLoss"> = (node, operands, writer) => {
  const rows = rowsOf(node, writer);
  const logarithms = logSoftmax(rows.flat(at(operands, 0)), 1, writer);
  return [lossOf(node, logarithms, operands.slice(1), rows, writer), rows.whole(logarithms)];
};

const logLikelihood: OwnLowering<"NegativeLogLikelihoodLoss"> = (node, operands, writer) => {
  const rows = rowsOf(node, writer);
  return [lossOf(node, rows.flat(at(operands, 0)), operands.slice(1), rows, writer)];
};

export const rowLossLowerings: Required<OwnLoweringsOf<"loss">> = {
  SoftmaxCrossEntropyLoss: crossEntropy,
  NegativeLogLikelihoodLoss: logLikelihood,
};
