import type { OpOf } from "@mp/graph";
import type { LoweringTable } from "./lowering.js";

export const attentionLowerings: LoweringTable<OpOf<"attention">> = {
  Attention: (_, { name }) => {
    throw new Error(`internal: ${name} is emitted as products and a softmax`);
  },
};
