import type { OpOf } from "@mp/core/graph";
import { int, string } from "../model.js";
import type { Lowering, LoweringTable } from "./lowering.js";

const likelihood: Lowering<OpOf<"loss">> = (node, operands, writer) => {
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

export const lossLowerings: LoweringTable<OpOf<"loss">> = {
  SoftmaxCrossEntropyLoss: likelihood,
  NegativeLogLikelihoodLoss: likelihood,
};
