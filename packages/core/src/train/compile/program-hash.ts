import { contentHash } from "../../content-hash.js";
import type { Graph } from "../../graph/graph.js";
import { printGraph } from "../../graph/print.js";
import { isHostTensor } from "../../host/host-tensor.js";
import { stableHash } from "../../stable-hash.js";

/** The stream of a `RandomBits` node: each rank has its own. */
const STREAM = / ?key=0x[0-9a-f]+/g;

/** A hash of what a graph computes, the same for graphs that differ in their streams of randomness alone. */
export function programHash(graph: Graph): string {
  const constants = graph.nodes
    .flatMap(({ attributes }) => Object.values(attributes as object) as unknown[])
    .filter(isHostTensor)
    .map(({ data }) => contentHash(data));
  const read = new Set(graph.nodes.flatMap(({ inputs }) => inputs));
  const inputs = graph.inputs.filter(({ value }) => read.has(value));
  return stableHash([printGraph({ ...graph, inputs }).replace(STREAM, ""), ...constants].join());
}
