import { float32, mixedBfloat16, mixedFloat16 } from "@mp/core";
import { type Graph, printGraph, zeros } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { trainingGraphs } from "../test/training-graphs.js";
import { decodeModel } from "./decode.js";
import { encodeModel } from "./encode.js";
import type { OnnxModel } from "./model.js";
import { readGraph } from "./read/read.js";
import { sourceOfNode, writeGraph } from "./write/write.js";

const throughFile = (model: OnnxModel): Graph => readGraph(decodeModel(encodeModel(model))).graph;

const run = (graph: Graph): unknown =>
  evaluate(
    graph,
    Object.fromEntries(graph.inputs.map(({ name, value }) => [name, zeros(value.shape, value.dtype)])),
  );

describe.each([
  ["float32", float32()],
  ["mixed float16", mixedFloat16()],
  ["mixed bfloat16", mixedBfloat16()],
])("the graphs of a training run in %s", (_, precision) => {
  it("read back as the same text, origins included, where mp ops are kept", async () => {
    const graphs = await trainingGraphs(precision);
    expect(graphs.length).toBeGreaterThan(2);
    expect(graphs.some((graph) => graph.nodes.some(({ op }) => op === "Barrier"))).toBe(true);
    for (const graph of graphs) {
      const back = throughFile(writeGraph(graph, { ownOps: "keep" }));
      expect(printGraph(back)).toBe(printGraph(graph));
      expect(back.nodes.map(({ origin: { line, phase } }) => ({ line, phase }))).toEqual(
        graph.nodes.map(({ origin: { line, phase } }) => ({ line, phase })),
      );
    }
  });

  it("read back as graphs that compute the same bits where mp ops are decomposed", async () => {
    for (const graph of await trainingGraphs(precision)) {
      const model = writeGraph(graph);
      expect(Object.keys(model.opsets)).toEqual([""]);
      expect(run(throughFile(model))).toEqual(run(graph));
    }
  });

  it("name nodes so that every one leads back to its node, in the order of the graph", async () => {
    for (const graph of await trainingGraphs(precision)) {
      const { nodes } = writeGraph(graph).graph;
      expect(new Set(nodes.map(({ name }) => name)).size).toBe(nodes.length);
      const sources = nodes.filter(({ name }) => !name.startsWith("output ")).map(sourceOfNode);
      expect([...new Set(sources)]).toEqual(graph.nodes.map(({ name }) => name));
    }
  });
});
