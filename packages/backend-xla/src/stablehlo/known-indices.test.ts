import { type Graph, GraphBuilder, tensor, type Value } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { emitGraph } from "../lowerings/emit-graph.js";
import { Emitter } from "./index.js";

/** How often the text of a graph compares indices with a size, and whether it has a flag in the end. */
function checksOf(graph: Graph) {
  const emitter = new Emitter({ tf32: false, devices: 1 });
  emitGraph(
    emitter,
    graph,
    graph.inputs.map(({ name, value }) => ({ name: `%${name}`, type: value })),
  );
  const hasFlag = emitter.indicesInRange() !== undefined;
  return { checks: emitter.text().split("compare GE").length - 1, hasFlag };
}

function graphOf(make: (builder: GraphBuilder, table: Value, ids: Value) => Value): Graph {
  const builder = new GraphBuilder();
  const table = builder.input("table", { dtype: "f32", shape: [5, 2] }, "batch");
  const ids = builder.input("ids", { dtype: "i32", shape: [3] }, "batch");
  return builder.finish({ y: make(builder, table, ids) });
}

describe("indices", () => {
  it("of the data are checked", () => {
    const graph = graphOf((builder, table, ids) => builder.emitOne("Gather", [table, ids], { axis: 0 }));
    expect(checksOf(graph)).toEqual({ checks: 1, hasFlag: true });
  });

  it("that the graph makes are not checked", () => {
    const made = [
      (builder: GraphBuilder) => builder.constant(tensor(Int32Array.of(4, -5))),
      (builder: GraphBuilder) => builder.emitOne("Range", [], { start: 0, limit: 5, delta: 1, dtype: "i32" }),
      (builder: GraphBuilder, table: Value) =>
        builder.emitOne("ArgMax", [table], { axis: 1, keepdims: false }),
    ];
    for (const make of made) {
      const graph = graphOf((builder, table) =>
        builder.emitOne("Gather", [table, make(builder, table)], { axis: 0 }),
      );
      expect(checksOf(graph)).toEqual({ checks: 0, hasFlag: false });
    }
  });

  it("are checked once, also in another shape", () => {
    const twice = (sizes: readonly number[]) =>
      graphOf((builder, table, ids) => {
        const rows = builder.emitOne("Gather", [table, ids], { axis: 0 });
        const tuples = builder.emitOne("Unsqueeze", [ids], { axes: [1] });
        const zeros = builder.emitOne("Expand", [builder.literal(0, "f32")], { shape: sizes });
        return builder.emitOne("ScatterND", [zeros, tuples, rows], { reduction: "add" });
      });
    expect(checksOf(twice([5, 2]))).toEqual({ checks: 1, hasFlag: true });
    expect(checksOf(twice([4, 2]))).toEqual({ checks: 2, hasFlag: true });
  });
});
