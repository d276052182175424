import type { OperatorWork } from "@mp/cli/training";
import { byteLength, elementCount, type Graph, isNode } from "@mp/core";

/** By operator: bytes of operands and results, each once, and the arithmetic of matrix products. */
export function graphWork(graph: Graph): Readonly<Record<string, OperatorWork>> {
  const work: Record<string, OperatorWork> = {};
  for (const node of graph.nodes) {
    const before = work[node.op] ?? { flops: 0, bytes: 0 };
    const bytes = [...node.inputs, ...node.outputs].reduce((sum, value) => sum + byteLength(value), 0);
    work[node.op] = { flops: before.flops + productFlops(node), bytes: before.bytes + bytes };
  }
  return work;
}

function productFlops(node: Graph["nodes"][number]): number {
  const [left] = node.inputs;
  const [product] = node.outputs;
  if (left === undefined || product === undefined) return 0;
  const results = elementCount(product.shape, "work");
  if (isNode(node, "MatMul")) return 2 * results * (left.shape.at(-1) ?? 0);
  if (isNode(node, "Gemm")) return 2 * results * (left.shape[node.attributes.transA ? 0 : 1] ?? 0);
  return 0;
}
