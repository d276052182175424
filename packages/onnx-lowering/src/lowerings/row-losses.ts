/** Computes classification losses for rows of scores, since WebGPU has no loss kernels, and CUDA's lose digits. */
import type { DType, GraphNode, OpOf } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { logSoftmax } from "./log-softmax.js";
import { product, reshape, transpose } from "./operators.js";
import { at, type OwnLowering, type OwnLoweringsOf, operandType } from "./own-lowering.js";

type Loss = GraphNode<OpOf<"loss">>;

/**
 * Writes the loss for rows of log-probabilities; without a reduction, one loss per row. `logarithms` emits the
 * log-probabilities after the labels are masked; `column` turns a vector into a matrix of one column, `vector` undoes
 * this.
 */
export function lossOfRows(
  node: Loss,
  logarithms: () => string,
  [labels = "", weights]: readonly (string | undefined)[],
  { column, vector }: { readonly column: (x: string) => string; readonly vector: (x: string) => string },
  writer: NodeWriter,
): string {
  const { reduction, ignoreIndex } = node.attributes;
  const { dtype } = operandType(node);
  const ignored =
    ignoreIndex === undefined ? undefined : writer.one("Equal", [labels, writer.scalar(ignoreIndex, "i32")]);
  const mask = (x: string, of: DType): string =>
    ignored === undefined ? x : writer.one("Where", [ignored, writer.scalar(0, of), x]);
  const classes = mask(labels, "i32");
  const picked = writer.one("GatherElements", [logarithms(), column(classes)], { axis: int(1) });
  const losses = writer.one("Neg", [vector(picked)]);
  const weight =
    weights === undefined ? undefined : writer.one("Gather", [weights, classes], { axis: int(0) });
  const each = mask(weight === undefined ? losses : writer.one("Mul", [losses, weight]), dtype);
  if (reduction === "none") return each;
  const reduce = (op: "ReduceSum" | "ReduceMean", x: string): string =>
    writer.one(op, [x, writer.ints([0])], { keepdims: int(0) });
  if (reduction === "sum") return reduce("ReduceSum", each);
  if (weight === undefined && ignored === undefined) return reduce("ReduceMean", each);
  const counted = mask(weight ?? writer.scalar(1, dtype), dtype);
  const total = reduce("ReduceSum", counted);
  return writer.one("Div", [reduce("ReduceSum", each), total]);
}

/** Reshapes [N, C, d…] to rows of classes, and back. */
function classRows(node: Loss, writer: NodeWriter) {
  const { shape } = operandType(node);
  const [batch = 1, classes = 1, ...rest] = shape;
  const perm = [0, ...rest.map((_, index) => index + 2), 1];
  const back = [0, shape.length - 1, ...rest.map((_, index) => index + 1)];
  const rows = batch * product(rest);
  const isFlat = rest.length === 0;
  const vector = (x: string): string => reshape(x, [rows], writer);
  const column = (x: string): string => reshape(x, [rows, 1], writer);
  return {
    flat: (scores: string): string =>
      isFlat ? scores : reshape(transpose(scores, perm, writer), [rows, classes], writer),
    whole: (flat: string): string =>
      isFlat ? flat : transpose(reshape(flat, [batch, ...rest, classes], writer), back, writer),
    loss: (logarithms: string, [labels = "", weights]: readonly string[]): string => {
      const loss = lossOfRows(node, () => logarithms, [vector(labels), weights], { column, vector }, writer);
      const isWhole = isFlat || node.attributes.reduction !== "none";
      return isWhole ? loss : reshape(loss, [batch, ...rest], writer);
    },
  };
}

/** Computes the loss of f32 scores; scores in f16 or bf16 are widened before. */
const crossEntropy: OwnLowering<"SoftmaxCrossEntropyLoss"> = (node, operands, writer) => {
  const rows = classRows(node, writer);
  const logarithms = logSoftmax(rows.flat(at(operands, 0)), 1, writer);
  return [rows.loss(logarithms, operands.slice(1)), rows.whole(logarithms)];
};

const logLikelihood: OwnLowering<"NegativeLogLikelihoodLoss"> = (node, operands, writer) => {
  const rows = classRows(node, writer);
  return [rows.loss(rows.flat(at(operands, 0)), operands.slice(1))];
};

export const rowLossLowerings: Required<OwnLoweringsOf<"loss">> = {
  SoftmaxCrossEntropyLoss: crossEntropy,
  NegativeLogLikelihoodLoss: logLikelihood,
};
