import { int } from "@mp/onnx";
import type { OwnLowering } from "./own-lowering.js";

/** The engine inlines ONNX's function, a dozen passes over the scores; the plain loss of a batch needs two. */
export const crossEntropy: OwnLowering<"SoftmaxCrossEntropyLoss"> = (node, operands, writer) => {
  const { reduction, ignoreIndex } = node.attributes;
  const [scores = "", labels = "", weights] = operands;
  if (weights !== undefined || ignoreIndex !== undefined || node.inputs[0]?.shape.length !== 2)
    return undefined;
  const logProbabilities = writer.one("LogSoftmax", [scores], { axis: int(1) });
  const index = writer.one("Unsqueeze", [labels, writer.ints([1])]);
  const picked = writer.one("GatherElements", [logProbabilities, index], { axis: int(1) });
  const each = writer.one("Neg", [writer.one("Squeeze", [picked, writer.ints([1])])]);
  if (reduction === "none") return [each, logProbabilities];
  const reduce = reduction === "mean" ? "ReduceMean" : "ReduceSum";
  return [writer.one(reduce, [each, writer.ints([0])], { keepdims: int(0) }), logProbabilities];
};
