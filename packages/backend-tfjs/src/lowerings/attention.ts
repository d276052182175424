import type { OpOf } from "@mp/core/graph";
import type { LoweringTable } from "../graph/tf-writer.js";

export const attentionLowerings: LoweringTable<OpOf<"attention">> = {
  Attention: ({ name }) => {
    throw new Error(`internal: ${name} is lowered as products and a softmax`);
  },
};
