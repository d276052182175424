import { FAMILIES, type GraphNode, type OpOf, rowsOf } from "@mp/graph";
import type { LoweringTable } from "./lowering.js";

export const attentionLowerings: LoweringTable<OpOf<"attention">> = rowsOf(
  FAMILIES.attention,
  () =>
    (_: unknown, { name }: GraphNode) => {
      throw new Error(`internal: ${name} is emitted as products and a softmax`);
    },
);
