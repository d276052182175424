import { type AnyNode, isNode } from "../graph/graph.js";
import type { HostTensor } from "../host/host-tensor.js";

/**
 * Copies the constants in a scan's body, since a kernel reads them in each run, when their host data may have
 * changed. Other nodes are returned as they are.
 */
export function withOwnConstants(node: AnyNode): AnyNode {
  if (!isNode(node, "Scan")) return node;
  const { body } = node.attributes;
  const nodes = body.nodes.map((inner): AnyNode => {
    if (!isNode(inner, "Constant")) return withOwnConstants(inner as AnyNode);
    const { value } = inner.attributes;
    const copy = { ...value, data: value.data.slice() } as HostTensor;
    return { ...inner, attributes: { ...inner.attributes, value: copy } } as AnyNode;
  });
  return { ...node, attributes: { ...node.attributes, body: { ...body, nodes } } } as AnyNode;
}
