import { type Graph, isHostTensor, printGraph } from "@mp/graph";
import { contentHash, stableHash } from "@mp/graph/internal";

/** Matches the stream of a `RandomBits` node, which differs between ranks. */
const STREAM = / ?key=0x[0-9a-f]+/g;

/** A hash of what a graph computes, equal for graphs that differ only in their streams of randomness. */
export function programHash(graph: Graph): string {
  const constants = graph.nodes
    .flatMap(({ attributes }) => Object.values(attributes as object) as unknown[])
    .filter(isHostTensor)
    .map(({ data }) => contentHash(data));
  const read = new Set(graph.nodes.flatMap(({ inputs }) => inputs));
  const inputs = graph.inputs.filter(({ value }) => read.has(value));
  return stableHash([printGraph({ ...graph, inputs }).replace(STREAM, ""), ...constants].join());
}
