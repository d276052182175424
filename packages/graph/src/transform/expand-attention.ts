/** Attention and its gradient as products and a softmax, for engines without kernels for them. */
import { attentionSlopes } from "../gradient/rules/attention.js";
import { attentionShares } from "../gradient/rules/attention-shares.js";
import { narrow, toShape, wide, zeroGradient } from "../gradient/rules/rule.js";
import { FAMILIES } from "../graph/families.js";
import type { AnyNode, Graph, GraphNode } from "../graph/graph.js";
import { where } from "../trace/ops/binary.js";
import { matMul } from "../trace/ops/matrix.js";
import { Tensor } from "../trace/tensor.js";
import { withBuilder, withoutLines } from "../trace/trace.js";
import { expandNodes } from "./expand-nodes.js";

function attend(operands: readonly Tensor[], { attributes, outputs }: GraphNode<"Attention">): Tensor {
  const [query, key, value, mask] = operands as [Tensor, Tensor, Tensor, Tensor?];
  const [output] = outputs as [GraphNode["outputs"][number]];
  if (output.shape.includes(0) || key.shape[2] === 0) return zeroGradient(output);
  const { shares, attends } = attentionShares(query, key, mask, attributes);
  const y = toShape(matMul(shares, wide(value)), output.shape);
  return narrow(attends === undefined ? y : where(attends, y, 0), output);
}

/**
 * Replaces Attention and AttentionGradient nodes, also in bodies of loops, by MatMul, Softmax and operators that add the
 * masks, in f32 for any dtype. A graph without such nodes is returned unchanged.
 * @param isExpanded called for each such node; by default all are replaced
 * @param onNode called for each node of the new graph outside of loop bodies, with its name and the node that it is
 *   part of
 */
export function expandAttentions(
  graph: Graph,
  isExpanded?: (node: AnyNode) => boolean,
  onNode?: (made: string, source: AnyNode) => void,
): Graph {
  return expandNodes(graph, FAMILIES.attention, {
    isExpanded,
    onNode,
    expand: (builder, node, inputs) => {
      const { origin } = builder;
      builder.origin = node.origin;
      try {
        const operands = inputs.map((value) => Tensor.of(value));
        const write = (): readonly Tensor[] =>
          node.op === "Attention"
            ? [attend(operands, node as GraphNode<"Attention">)]
            : attentionSlopes(operands, node.attributes).slice(0, 3);
        const results = withBuilder(builder, () => withoutLines(write));
        return results.map((result) => Tensor.valueIn(result, builder, node.op));
      } finally {
        builder.origin = origin;
      }
    },
  });
}
