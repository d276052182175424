import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../graph/build/builder.js";
import { expandComposites } from "./expand-composites.js";

describe("expandComposites", () => {
  it("expands both operators, and knows the source of each node of both passes", () => {
    const builder = new GraphBuilder();
    const type = { dtype: "f32", shape: [1, 1, 2, 2] } as const;
    const operands = ["q", "k", "v"].map((name) => builder.input(name, type, "batch"));
    const attributes = { scale: 1, isCausal: true, softcap: 0 };
    const attended = builder.emitOne("Attention", operands, attributes);
    const negated = builder.emitOne("Neg", [attended], {});
    const y = builder.emitOne("Einsum", [negated, negated], { equation: "bhij,bhkj->bhik" });
    const graph = builder.finish({ y });

    const { graph: expanded, sourceOf } = expandComposites(graph);
    const ops = new Set(expanded.nodes.map(({ op }) => op));
    expect([ops.has("Attention"), ops.has("Einsum"), ops.has("MatMul")]).toEqual([false, false, true]);
    const sources = new Set(expanded.nodes.map(({ name }) => sourceOf(name)));
    expect(sources).toEqual(new Set(graph.nodes.map(({ name }) => name)));
    expect(expandComposites(expanded)).toMatchObject({ graph: expanded });
  });

  it("keeps an Einsum that is not chosen", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", { dtype: "f32", shape: [2, 2] }, "batch");
    const graph = builder.finish({ y: builder.emitOne("Einsum", [x, x], { equation: "ij,jk->ik" }) });
    expect(expandComposites(graph, () => false).graph).toBe(graph);
  });
});
