import { byteLength, type Graph, type HostTensor, isNode } from "@mp/graph";
import { uniformValue } from "./stablehlo/index.js";

interface LiftedGraph {
  /** The graph with the constants as its last inputs. */
  readonly graph: Graph;
  readonly constants: readonly HostTensor[];
}

/** The most bytes of a constant that is written into a program. */
const WRITTEN_BYTES = 4096;

/**
 * Makes inputs of large constants: as text they would take twice their bytes, and be parsed at every compilation. One
 * whose elements are all the same number is written as that number.
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
