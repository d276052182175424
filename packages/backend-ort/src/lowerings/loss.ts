import type { GraphNode } from "@mp/core/graph";
import { int, type NodeWriter } from "@mp/onnx";
import { type OwnLowering, operandType } from "./own-lowering.js";

type Likelihood = "SoftmaxCrossEntropyLoss" | "NegativeLogLikelihoodLoss";

/**
 * The engine counts negative labels from the last class. Moved beyond the classes they make it fail, as every invalid
 * label must.
 */
function checkedLabels(node: GraphNode<Likelihood>, labels: string, writer: NodeWriter): string {
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

/** The engine inlines ONNX's function, a dozen passes over the scores; the plain mean loss needs two. */
export const crossEntropy: OwnLowering<"SoftmaxCrossEntropyLoss"> = (node, operands, writer, standard) => {
  const { reduction, ignoreIndex } = node.attributes;
  const [scores = "", labels = "", ...weights] = operands;
  const checked = checkedLabels(node, labels, writer);
  if (weights.length > 0 || ignoreIndex !== undefined || operandType(node).shape.length !== 2)
    return standard([scores, checked, ...weights]);
  const logProbabilities = writer.one("LogSoftmax", [scores], { axis: int(1) });
  const index = writer.one("Unsqueeze", [checked, writer.ints([1])]);
  const picked = writer.one("GatherElements", [logProbabilities, index], { axis: int(1) });
  const each = writer.one("Neg", [writer.one("Squeeze", [picked, writer.ints([1])])]);
  if (reduction === "none") return [each, logProbabilities];
  const reduce = reduction === "mean" ? "ReduceMean" : "ReduceSum";
  return [writer.one(reduce, [each, writer.ints([0])], { keepdims: int(0) }), logProbabilities];
};

export const logLikelihood: OwnLowering<"NegativeLogLikelihoodLoss"> = (
  node,
  [scores = "", labels = "", ...weights],
  writer,
  standard,
) => standard([scores, checkedLabels(node, labels, writer), ...weights]);
