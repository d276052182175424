import type { DType } from "@mp/core";
import type { GraphNode, OpOf } from "@mp/core/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { type OwnLowering, type OwnLoweringsOf, operandType } from "./own-lowering.js";

/**
 * The engine counts negative labels from the last class. Moved beyond the classes they make it fail, as every invalid
 * label must.
 */
export function checkedLabels(node: GraphNode<OpOf<"loss">>, labels: string, writer: NodeWriter): string {
  const { ignoreIndex } = node.attributes;
  const classes = operandType(node).shape[1] ?? 0;
  const outside = writer.scalar(classes === ignoreIndex ? classes + 1 : classes, "i32");
  let wrong = writer.one("Less", [labels, writer.scalar(0, "i32")]);
  if (ignoreIndex !== undefined && ignoreIndex < 0) {
    const counts = writer.one("Not", [writer.one("Equal", [labels, writer.scalar(ignoreIndex, "i32")])]);
    wrong = writer.one("And", [wrong, counts]);
  }
  return writer.one("Where", [wrong, outside, labels]);
}

/**
 * The engine inlines ONNX's function: a dozen passes over the scores, two of them transpositions. For rows of scores two
 * passes do.
 */
const crossEntropy: OwnLowering<"SoftmaxCrossEntropyLoss"> = (node, operands, writer, standard) => {
  const { reduction, ignoreIndex } = node.attributes;
  const { dtype, shape } = operandType(node);
  const [scores = "", labels = "", weights] = operands;
  const checked = checkedLabels(node, labels, writer);
  if (shape.length !== 2) return standard([scores, checked, ...operands.slice(2)]);
  const ignored =
    ignoreIndex === undefined ? undefined : writer.one("Equal", [checked, writer.scalar(ignoreIndex, "i32")]);
  const masked = (x: string, of: DType): string =>
    ignored === undefined ? x : writer.one("Where", [ignored, writer.scalar(0, of), x]);
  const places = masked(checked, "i32");
  const logProbabilities = writer.one("LogSoftmax", [scores], { axis: int(1) });
  const index = writer.one("Unsqueeze", [places, writer.ints([1])]);
  const picked = writer.one("GatherElements", [logProbabilities, index], { axis: int(1) });
  const losses = writer.one("Neg", [writer.one("Squeeze", [picked, writer.ints([1])])]);
  const weight =
    weights === undefined ? undefined : writer.one("Gather", [weights, places], { axis: int(0) });
  const each = masked(weight === undefined ? losses : writer.one("Mul", [losses, weight]), dtype);
  if (reduction === "none") return [each, logProbabilities];
  const reduced = (op: "ReduceSum" | "ReduceMean", x: string): string =>
    writer.one(op, [x, writer.ints([0])], { keepdims: int(0) });
  if (reduction === "sum") return [reduced("ReduceSum", each), logProbabilities];
  if (weight === undefined && ignored === undefined) return [reduced("ReduceMean", each), logProbabilities];
  const total = reduced("ReduceSum", masked(weight ?? writer.scalar(1, dtype), dtype));
  return [writer.one("Div", [reduced("ReduceSum", each), total]), logProbabilities];
};

const logLikelihood: OwnLowering<"NegativeLogLikelihoodLoss"> = (
  node,
  [scores = "", labels = "", ...weights],
  writer,
  standard,
) => standard([scores, checkedLabels(node, labels, writer), ...weights]);

export const lossLowerings: OwnLoweringsOf<"loss"> = {
  SoftmaxCrossEntropyLoss: crossEntropy,
  NegativeLogLikelihoodLoss: logLikelihood,
};
