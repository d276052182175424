import { full, GraphBuilder } from "@mp/graph";
import { afterEach, expect, it, vi } from "vitest";
import { openvino } from "../../src/index.js";
import { NativeRuntime } from "../../src/native/index.js";

afterEach(() => vi.restoreAllMocks());

const SIZE = 512;

it("names the graph's nodes, of which products take the time, and compiles counters for each profile and only then", async () => {
  const backend = await openvino();
  const builder = new GraphBuilder();
  const a = builder.input("a", { dtype: "f32", shape: [SIZE, SIZE] }, "batch");
  const product = builder.emitOne("MatMul", [a, a], {});
  const graph = builder.finish({
    all: builder.emitOne("ReduceSum", [product], { axes: [0, 1], keepdims: false }),
  });
  const compile = vi.spyOn(NativeRuntime.prototype, "compile");
  const executable = await backend.compile(graph);
  const inputs = { a: full([SIZE, SIZE], 1, "f32") };
  await executable.run(inputs);
  expect(compile).toHaveBeenCalledTimes(1);
  const live = backend.stats().live;
  for (let turn = 0; turn < 3; turn++) {
    const rows = await executable.profile?.(inputs);
    const [slowest] = rows ?? [];
    expect(slowest?.node).toBe(graph.nodes.find(({ op }) => op === "MatMul")?.name);
    expect(slowest?.microseconds).toBeGreaterThan(100);
    expect(rows?.map(({ node }) => node)).toContain(graph.nodes.at(-1)?.name);
    expect(rows?.map(({ microseconds }) => microseconds)).toEqual(
      rows?.map(({ microseconds }) => microseconds).toSorted((one, other) => other - one),
    );
  }
  expect(compile).toHaveBeenCalledTimes(4);
  expect(backend.stats().live).toBe(live);
  const { all } = await executable.run(inputs);
  expect(all?.data[0]).toBe(SIZE ** 3);
  await backend.dispose();
});
