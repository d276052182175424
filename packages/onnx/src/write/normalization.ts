import type { OpOf } from "@mp/core/graph";
import { float, int } from "../model.js";
import type { LoweringTable } from "./lowering.js";
import { plain } from "./plain.js";

export const normalizationLowerings: LoweringTable<OpOf<"normalization">> = {
  Softmax: plain(({ attributes: { axis } }) => ({ axis: int(axis) })),
  LogSoftmax: plain(({ attributes: { axis } }) => ({ axis: int(axis) })),
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
