import { float, int, string } from "../model.js";
import { plain } from "./elementwise.js";
import type { Lowering, LoweringTable } from "./lowering.js";

const likelihood: Lowering<"SoftmaxCrossEntropyLoss" | "NegativeLogLikelihoodLoss"> = (
  node,
  operands,
  writer,
) => {
  const { reduction, ignoreIndex } = node.attributes;
  return writer.emit(
    node.op,
    operands,
    {
      reduction: string(reduction),
      ...(ignoreIndex === undefined ? {} : { ignore_index: int(ignoreIndex) }),
    },
    { outputs: node.outputs.length },
  );
};

export const normalizationLowerings: LoweringTable<
  | "Softmax"
  | "LogSoftmax"
  | "SoftmaxCrossEntropyLoss"
  | "NegativeLogLikelihoodLoss"
  | "LayerNormalization"
  | "RMSNormalization"
> = {
  Softmax: plain(({ attributes: { axis } }) => ({ axis: int(axis) })),
  LogSoftmax: plain(({ attributes: { axis } }) => ({ axis: int(axis) })),
  SoftmaxCrossEntropyLoss: likelihood,
  NegativeLogLikelihoodLoss: likelihood,
  LayerNormalization: (node, operands, writer) => {
    const { axis, epsilon } = node.attributes;
    const attributes = { axis: int(axis), epsilon: float(epsilon), stash_type: int(1) };
    return writer.emit("LayerNormalization", operands, attributes, { outputs: 3 });
  },
  RMSNormalization: plain(({ attributes: { axis, epsilon } }) => ({
    axis: int(axis),
    epsilon: float(epsilon),
    stash_type: int(1),
  })),
};
