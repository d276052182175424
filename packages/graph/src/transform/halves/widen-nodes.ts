import { isHalf } from "../../dtype.js";
import { rewriteBodies, rewriteNodes } from "../../graph/build/rewrite-nodes.js";
import type { AnyNode, Graph, Value } from "../../graph/graph.js";
import { emitWidened } from "./widen-halves.js";

/**
 * Computes the chosen nodes in f32: operands of half dtypes are cast to f32, and results are rounded back. Ops are
 * defined this way; the transform is for engines whose kernels deviate. The casts are next to the node, so that values
 * kept between nodes keep their half dtype. Nodes in bodies of loops are included; a loop itself only moves values, so
 * `isWidened` is not called for it. A graph without such nodes is returned unchanged.
 * @param isWidened called for each node that reads or returns a value of a half dtype
 * @param onNode called for each node of the new graph outside of loop bodies, with its name and the node that it is
 *   part of
 */
export function widenNodes(
  graph: Graph,
  isWidened: (node: AnyNode) => boolean,
  onNode?: (made: string, source: AnyNode) => void,
): Graph {
  const chosen = new Set(
    graph.nodes.filter((node) => node.op !== "Scan" && hasHalf(node) && isWidened(node)),
  );
  const loops = rewriteBodies(graph, (body) => widenNodes(body, isWidened));
  if (chosen.size === 0 && loops.size === 0) return graph;
  return rewriteNodes(graph, {
    visit: (builder, node, inputs) => {
      const { op, attributes, name, origin } = loops.get(node) ?? node;
      if (!chosen.has(node)) return builder.emit(op, inputs, attributes, origin, name);
      const cast = (value: Value, to: Value["dtype"]): Value =>
        value.dtype === to ? value : builder.emitOne("Cast", [value], { to }, origin);
      const wide = inputs.map((value) => (isHalf(value.dtype) ? cast(value, "f32") : value));
      const results = emitWidened(builder, node, wide, isHalf);
      return node.outputs.map((output, index) => cast(results[index] as Value, output.dtype));
    },
    onNode,
  });
}

const hasHalf = ({ inputs, outputs }: AnyNode): boolean =>
  [...inputs, ...outputs].some(({ dtype }) => isHalf(dtype));
