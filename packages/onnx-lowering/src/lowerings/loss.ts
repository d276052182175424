import type { GraphNode, OpOf } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { type OwnLowering, type OwnLoweringsOf, operandType } from "./own-lowering.js";
import { lossOfRows } from "./row-losses.js";

/**
 * Replaces negative labels, except the ignored one, by a label beyond the classes. The engine must fail for
 * every invalid label, but takes negative labels as counted from the last class.
 */
export function checkLabels(node: GraphNode<OpOf<"loss">>, labels: string, writer: NodeWriter): string {
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
 * Computes the loss of [rows, classes] scores in two passes. The engine would inline ONNX's function, which
 * passes a dozen times over the scores and transposes twice.
 */
const crossEntropy: OwnLowering<"SoftmaxCrossEntropyLoss"> = (node, operands, writer, standard) => {
  const [scores = "", labels = "", weights] = operands;
  const checked = checkLabels(node, labels, writer);
  if (operandType(node).shape.length !== 2) return standard([scores, checked, ...operands.slice(2)]);
  let logarithms = "";
  const takeLogarithms = (): string => {
    logarithms = writer.one("LogSoftmax", [scores], { axis: int(1) });
    return logarithms;
  };
  const column = (x: string): string => writer.one("Unsqueeze", [x, writer.ints([1])]);
  const vector = (x: string): string => writer.one("Squeeze", [x, writer.ints([1])]);
  const loss = lossOfRows(node, takeLogarithms, [checked, weights], { column, vector }, writer);
  return [loss, logarithms];
};

const logLikelihood: OwnLowering<"NegativeLogLikelihoodLoss"> = (
  node,
  [scores = "", labels = "", ...weights],
  writer,
  standard,
) => standard([scores, checkLabels(node, labels, writer), ...weights]);

export const lossLowerings: OwnLoweringsOf<"loss"> = {
  SoftmaxCrossEntropyLoss: crossEntropy,
  NegativeLogLikelihoodLoss: logLikelihood,
};
