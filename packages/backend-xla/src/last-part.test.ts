import { GraphBuilder } from "@mp/graph";
import { expect, it } from "vitest";
import { lastPart } from "./last-part.js";

it("begins at sums and inputs, and computes the outputs that are named", () => {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "f32", shape: [2, 2] }, "batch");
  const before = builder.emitOne("Exp", [x], {});
  const sum = builder.emitOne("ReduceSum", [before], { axes: [0, 1], keepdims: false });
  const scaled = builder.emitOne("Mul", [x, sum], {});
  const graph = builder.finish({ other: before, y: builder.emitOne("Neg", [scaled], {}), scaled });
  const part = lastPart(graph, new Set(["scaled", "y"]));
  expect(part.inputs.map(({ value }) => value)).toEqual([x, sum]);
  expect(part.nodes.map(({ op }) => op)).toEqual(["Mul", "Neg"]);
  expect(part.outputs.map(({ name }) => name)).toEqual(["y", "scaled"]);
});
