import { byteLength, type Graph, type HostTensor, isNode } from "@mp/graph";
import { uniformValue } from "./stablehlo/index.js";

interface LiftedGraph {
  /** The graph with the constants as its last inputs. */
  readonly graph: Graph;
  readonly constants: readonly HostTensor[];
}

/** Largest constant, in bytes, that is written into the text of a program. */
const WRITTEN_BYTES = 4096;

/**
 * Turns large constants into inputs, because as text they would take twice their bytes, and every compilation would
 * parse them. A constant whose elements are all equal stays in the text, as one value.
 */
export function liftConstants(graph: Graph): LiftedGraph {
  const lifted = graph.nodes.flatMap((node) => {
    if (!isNode(node, "Constant")) return [];
    const { value } = node.attributes;
    return byteLength(value) > WRITTEN_BYTES && uniformValue(value) === undefined ? [{ node, value }] : [];
  });
  if (lifted.length === 0) return { graph, constants: [] };
  const gone = new Set<unknown>(lifted.map(({ node }) => node));
  const inputs = lifted.flatMap(({ node }) =>
    node.outputs.map((value) => ({ name: node.name, role: "capture", value }) as const),
  );
  return {
    graph: {
      ...graph,
      inputs: [...graph.inputs, ...inputs],
      nodes: graph.nodes.filter((node) => !gone.has(node)),
    },
    constants: lifted.map(({ value }) => value),
  };
}
