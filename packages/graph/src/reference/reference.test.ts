import { describe, expect, it } from "vitest";
import { floats, graphOfOp, numbersOf } from "../../test/evaluate-op.js";
import { GraphBuilder } from "../graph/build/builder.js";
import { opDTypes } from "../graph/op-dtypes.js";
import { tensor } from "../host/host-tensor.js";
import { evaluate } from "./evaluate.js";
import { reference } from "./reference.js";

const { manifest } = await reference();

describe("reference()", () => {
  it("supports every op in every dtype it exists in", () => {
    expect(manifest.ops).toEqual(opDTypes);
    const storage = Object.entries(manifest.dtypes).map(([dtype, support]) => [dtype, support]);
    expect(Object.fromEntries(storage)["bf16"]).toEqual({ storage: "f32", compute: "emulated" });
    expect(Object.fromEntries(storage)["i64"]).toEqual({ storage: "i64", compute: "native" });
  });

  it("gives what evaluate gives, to the bit", async () => {
    const backend = await reference();
    const x = floats("bf16", [1.5, -2.25, 3, 0.125, 7, -1], [2, 3]);
    const builder = new GraphBuilder();
    const value = builder.input("x", x, "batch");
    const y = builder.emitOne("Softmax", [builder.emitOne("Exp", [value], {})], { axis: 1 });
    const [top, places] = builder.emit("TopK", [y], { axis: 1, k: 2, largest: true });
    if (top === undefined || places === undefined) throw new Error("TopK has two outputs");
    const graph = builder.finish({ y, top, places });
    const executable = await backend.compile(graph);
    expect(await executable.run({ x })).toEqual(evaluate(graph, { x }));
    expect(executable.warnings).toEqual([
      expect.objectContaining({ type: "emulated", message: expect.stringContaining("bf16") }),
    ]);
    await executable.dispose();
    expect(backend.stats()).toEqual({ live: 0, bytes: 0 });
  });

  it.each(["f32", "f16", "bf16", "f8e4m3", "f8e5m2"] as const)("keeps the bits of %s", async (dtype) => {
    const backend = await reference();
    const x = floats(dtype, [0, -0, 1.5, -3, 2 ** -9, 448, Number.NaN]);
    const handle = await backend.upload(x);
    const back = await backend.download(handle);
    expect(back).toEqual(x);
    expect(back.data).not.toBe(x.data);
    expect(backend.stats()).toEqual({ live: 1, bytes: 28 });
  });

  it("keeps 64-bit integers exact", async () => {
    const backend = await reference();
    const big = tensor(BigInt64Array.of(2n ** 62n + 1n, -(2n ** 63n)));
    const executable = await backend.compile(graphOfOp("Neg", [big], {}));
    const { y0 } = await executable.run({ x0: big });
    expect(y0?.data).toEqual(BigInt64Array.of(-(2n ** 62n) - 1n, -(2n ** 63n)));
  });

  it("names the node and the code of what an op has no value for", async () => {
    const backend = await reference();
    const x = floats("f32", [1, 2]);
    const index = tensor(Int32Array.of(2));
    const executable = await backend.compile(graphOfOp("Gather", [x, index], { axis: 0 }));
    await expect(executable.run({ x0: x, x1: index })).rejects.toThrow(
      expect.objectContaining({
        code: "MP_OUT_OF_RANGE",
        message: "Gather: index 2 is outside axis 0 of 2, use -2 … 1, in node Gather",
        details: { op: "Gather", index: 2, axis: 0, size: 2, node: "Gather" },
      }),
    );
  });

  it("in f64 arithmetic keeps a state unrounded from run to run", async () => {
    const builder = new GraphBuilder();
    const w = builder.input("w", { dtype: "f16", shape: [] }, "state");
    const newW = builder.emitOne("Add", [w, builder.literal(0.001, "f16")], {});
    const graph = builder.finish({ newW });
    const after = async (arithmetic: "exact" | "f64"): Promise<number | undefined> => {
      const backend = await reference({ arithmetic });
      const state = await backend.createState({ w: floats("f16", [16], []) });
      const bindings = [{ slot: "w", input: "w", output: "newW" }];
      const step = await backend.compile(graph, { state, bindings });
      for (let count = 0; count < 1000; count++) await step.run({});
      return numbersOf((await state.read())["w"])[0];
    };
    expect(await after("exact")).toBe(16);
    expect(await after("f64")).toBe(17);
  });
});
