import { full, type Graph, GraphBuilder, type HostTensor, tensor } from "@mp/graph";
import { expect, it } from "vitest";
import { liftConstants } from "./lift-constants.js";

function adding(value: HostTensor): Graph {
  const builder = new GraphBuilder();
  const x = builder.input("x", value, "batch");
  const constant = builder.emitOne("Constant", [], { value });
  return builder.finish({ y: builder.emitOne("Add", [x, constant], {}) });
}

const counting = (length: number): HostTensor => tensor(Float32Array.from({ length }, (_, at) => at));

it("makes an input of a large constant", () => {
  const value = counting(1025);
  const { graph, constants } = liftConstants(adding(value));
  expect(constants).toEqual([value]);
  expect(graph.nodes.map(({ op }) => op)).toEqual(["Add"]);
  expect(graph.inputs.map((input) => input.value)).toEqual(graph.nodes[0]?.inputs);
});

it.each([
  ["a small one", counting(1024)],
  ["one number everywhere", full([5000], -0, "f32")],
])("leaves %s", (_, value) => {
  const graph = adding(value);
  expect(liftConstants(graph)).toEqual({ graph, constants: [] });
});
