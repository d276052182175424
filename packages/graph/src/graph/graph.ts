/**
 * The data structure that all transformations read and write and all engines run. Values are in SSA form with static
 * shapes and dtypes; nodes are in execution order. A graph is immutable once built.
 */
import type { AnyNode, Graph, GraphNode, Op, Value } from "./attributes.js";

export type {
  AnyNode,
  Graph,
  GraphInput,
  GraphNode,
  GraphOutput,
  InputRole,
  Origin,
  Phase,
  Value,
  ValueType,
} from "./attributes.js";

/** Narrows a node to one operator, so that its attributes have their types. */
export function isNode<K extends Op>(node: GraphNode, op: K): node is GraphNode<K> {
  return (node.op as Op) === op;
}

/** The node that makes each value; graph inputs have none. */
export function producers(graph: Pick<Graph, "nodes">): ReadonlyMap<Value, AnyNode> {
  const map = new Map<Value, AnyNode>();
  for (const node of graph.nodes) for (const output of node.outputs) map.set(output, node);
  return map;
}

/** The nodes that read each value, once per node. Values that are never read are absent. */
export function consumers(graph: Graph): ReadonlyMap<Value, readonly AnyNode[]> {
  const map = new Map<Value, AnyNode[]>();
  for (const node of graph.nodes) {
    for (const input of new Set(node.inputs)) {
      const list = map.get(input);
      if (list === undefined) map.set(input, [node]);
      else list.push(node);
    }
  }
  return map;
}
