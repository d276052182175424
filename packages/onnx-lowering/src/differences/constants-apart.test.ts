import { tensor } from "@mp/graph";
import { onnxGraph, onnxNode } from "@mp/onnx/write";
import { expect, it } from "vitest";
import { withConstantsApart } from "./constants-apart.js";

it("gives no copy of a scalar more than 50 readers", () => {
  const nodes = Array.from({ length: 120 }, (_, at) =>
    onnxNode(at % 2 === 0 ? "Mul" : "Less", ["x", "two"], [`y${at}`]),
  );
  const two = tensor(Float32Array.of(2), []);
  const { graph, names } = withConstantsApart(
    onnxGraph("many", { nodes, initializers: [{ name: "two", tensor: two }], outputs: [] }),
  );
  const reads = new Map<string, number>();
  for (const name of graph.nodes.map(({ inputs }) => inputs[1] ?? ""))
    reads.set(name, (reads.get(name) ?? 0) + 1);
  expect([...reads.values()]).toEqual([50, 50, 20]);
  expect(graph.initializers.map(({ name }) => name)).toEqual([...reads.keys()]);
  expect(graph.initializers.every((initializer) => initializer.tensor === two)).toBe(true);
  expect([...names]).toEqual([...reads.keys()]);
});
