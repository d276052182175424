import { GraphBuilder, tensor } from "@mp/graph";
import { expect, it } from "vitest";
import { openvino } from "../../src/index.js";

it("gathers elements of what a slice has cropped to the size of the indices", async () => {
  const backend = await openvino();
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "f32", shape: [3, 3] }, "batch");
  const indices = builder.input("indices", { dtype: "i32", shape: [2, 2] }, "batch");
  const cropped = builder.emitOne("Slice", [x], { axes: [1], starts: [0], ends: [2], steps: [1] });
  const y = builder.emitOne("GatherElements", [cropped, indices], { axis: 0 });
  const executable = await backend.compile(builder.finish({ y }));
  const results = await executable.run({
    x: tensor(Float32Array.of(0, 1, 2, 3, 4, 5, 6, 7, 8), [3, 3]),
    indices: tensor(Int32Array.of(0, 1, 2, 0), [2, 2], "i32"),
  });
  expect([...(results["y"]?.data ?? [])]).toEqual([0, 4, 6, 1]);
  await backend.dispose();
});
