import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../graph/build/builder.js";
import { tensor } from "../host/host-tensor.js";
import { peakLiveBytes } from "./liveness.js";

const type = { dtype: "f32" as const, shape: [256] };
const KB = 1024;

describe("peakLiveBytes", () => {
  it("counts inputs throughout, values until their last reader, operands and results together", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", type, "batch");
    const a = builder.emitOne("Exp", [x], {});
    const b = builder.emitOne("Exp", [a], {});
    const c = builder.emitOne("Add", [a, b], {});
    const d = builder.emitOne("Exp", [c], {});
    const graph = builder.finish({ d });
    // x, a, b and c while Add runs
    expect(peakLiveBytes(graph)).toEqual({ bytes: 4 * KB, node: graph.nodes[2] });
    expect(peakLiveBytes(graph, { outputsHeld: true }).bytes).toBe(5 * KB);
  });

  it("counts constants throughout, and outputs to the end", () => {
    const builder = new GraphBuilder();
    const c = builder.constant(tensor(new Float32Array(512)));
    const early = builder.emitOne("Slice", [c], { starts: [0], ends: [256], axes: [0], steps: [1] });
    const x = builder.input("x", type, "batch");
    const late = builder.emitOne("Exp", [x], {});
    expect(peakLiveBytes(builder.finish({ early, late })).bytes).toBe((2 + 1 + 1 + 1) * KB);
  });

  it("gives views and barriers the memory of what they look at, for as long as anybody looks", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", type, "batch");
    const a = builder.emitOne("Exp", [x], {});
    const seen = builder.emitOne("Reshape", [a], { shape: [2, 128] });
    const behind = builder.emitOne("Barrier", [seen, x], {});
    const b = builder.emitOne("Exp", [x], {});
    const c = builder.emitOne("Add", [behind, builder.emitOne("Reshape", [b], { shape: [2, 128] })], {});
    // x, a, b and c: a lives until Add through two views of it.
    expect(peakLiveBytes(builder.finish({ c })).bytes).toBe(4 * KB);
  });

  it("frees what nobody reads at once, and counts dtypes by their size", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", type, "batch");
    builder.emitOne("Exp", [x], {});
    builder.emitOne("Exp", [x], {});
    const half = builder.emitOne("Cast", [x], { to: "f16" });
    expect(peakLiveBytes(builder.finish({ half })).bytes).toBe(2 * KB);
  });

  it("keeps memory that is free for the next value of its shape, where the engine does", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", type, "batch");
    const a = builder.emitOne("Exp", [x], {});
    const narrow = builder.emitOne("ReduceSum", [a], { axes: [0], keepdims: true });
    const wide = builder.emitOne("Expand", [narrow], { shape: [512] });
    const sum = builder.emitOne("ReduceSum", [wide], { axes: [0], keepdims: true });
    const b = builder.emitOne("Add", [x, sum], {});
    const y = builder.emitOne("ReduceSum", [b], { axes: [0], keepdims: true });
    const graph = builder.finish({ y });
    const beside = peakLiveBytes(graph).bytes - (1 + 2) * KB;
    // b takes the memory of a, which nothing reads any more while the wide value is alive.
    expect(peakLiveBytes(graph, { reusesShapes: true }).bytes - beside).toBe((1 + 2 + 1) * KB);
    expect(beside).toBeLessThan(16);
  });

  it("of an empty graph is its inputs", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", type, "batch");
    expect(peakLiveBytes(builder.finish({ x }))).toEqual({ bytes: KB, node: undefined });
  });
});
