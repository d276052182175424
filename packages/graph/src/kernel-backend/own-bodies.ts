import { copyTensor } from "../backend/copy-of.js";
import { type AnyNode, isNode } from "../graph/graph.js";

/**
 * Copies the constants in a scan's body, because a kernel reads them in each run and users may change their host data.
 * Other nodes are returned as they are.
 */
export function withOwnConstants(node: AnyNode): AnyNode {
  if (!isNode(node, "Scan")) return node;
  const { body } = node.attributes;
  const nodes = body.nodes.map((inner): AnyNode => {
    if (!isNode(inner, "Constant")) return withOwnConstants(inner as AnyNode);
    const { value } = inner.attributes;
    return { ...inner, attributes: { ...inner.attributes, value: copyTensor(value) } } as AnyNode;
  });
  return { ...node, attributes: { ...node.attributes, body: { ...body, nodes } } } as AnyNode;
}
