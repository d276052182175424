import { type AnyNode, consumers, type Graph, isNode, producers, type Value } from "../graph/graph.js";
import { sameShape } from "../shape.js";

/** A sum of values of one shape, such as the gradient of a value that is used often. */
export interface SumTree {
  /** The Add that computes the whole sum. */
  readonly root: AnyNode;
  /** The terms, from left to right. */
  readonly leaves: readonly Value[];
}

/** Finds the largest trees of Adds without broadcasting; no other node reads their inner sums. */
export function sumTrees(graph: Graph): readonly SumTree[] {
  const makers = producers(graph);
  const isUsedOnce = singleUseTest(graph);
  const inner = new Set<AnyNode>();
  const trees: SumTree[] = [];
  for (const root of graph.nodes.toReversed()) {
    if (!isPlainSum(root) || inner.has(root)) continue;
    const leaves: Value[] = [];
    const stack: Value[] = [...root.inputs].reverse();
    for (let value = stack.pop(); value !== undefined; value = stack.pop()) {
      const maker = makers.get(value);
      if (maker !== undefined && isPlainSum(maker) && isUsedOnce(value)) {
        inner.add(maker);
        stack.push(...[...maker.inputs].reverse());
      } else {
        leaves.push(value);
      }
    }
    trees.push({ root, leaves });
  }
  return trees;
}

function isPlainSum(node: AnyNode): boolean {
  const [a, b] = node.inputs;
  return isNode(node, "Add") && a !== undefined && b !== undefined && sameShape(a.shape, b.shape);
}

/** Returns a test: a single node reads the value, reads it once, and the value is not an output of the graph. */
export function singleUseTest(graph: Graph): (value: Value) => boolean {
  const readers = consumers(graph);
  const returned = new Set(graph.outputs.map(({ value }) => value));
  return (value) => {
    const [reader, second] = readers.get(value) ?? [];
    if (reader === undefined || second !== undefined || returned.has(value)) return false;
    return reader.inputs.filter((input) => input === value).length === 1;
  };
}
