import { GraphBuilder, printGraph } from "@mp/graph";
import { expect, it } from "vitest";
import { manifestOf } from "../../../graph/test/test-manifest.js";
import { autocastGraph } from "./autocast-graph.js";
import { mixedFloat16Policy } from "./policy.js";

it("batch normalization between low-precision ops takes halves, and its parameters and statistics stay in f32", () => {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "f32", shape: [8, 4] }, "batch");
  const w = builder.input("w", { dtype: "f32", shape: [4, 4] }, "parameter");
  const scale = builder.input("scale", { dtype: "bf16", shape: [4] }, "parameter");
  const bias = builder.input("bias", { dtype: "f32", shape: [4] }, "parameter");
  const wide = builder.emitOne("Cast", [scale], { to: "f32" });
  const first = builder.emitOne("MatMul", [x, w], {});
  const [y, mean] = builder.emit("BatchNormalization", [first, wide, bias], { epsilon: 0.5 });
  if (y === undefined || mean === undefined) throw new Error("batch normalization has three results");
  const relu = builder.emitOne("Relu", [y], {});
  const graph = builder.finish({ result: builder.emitOne("MatMul", [relu, w], {}), mean });
  const options = { manifest: manifestOf() };
  expect(printGraph(autocastGraph(graph, mixedFloat16Policy, options))).toMatchInlineSnapshot(`
    "%0 = batch "x" : f32[8, 4]
    %1 = parameter "w" : f32[4, 4]
    %2 = parameter "scale" : bf16[4]
    %3 = parameter "bias" : f32[4]
    %4:f16[8, 4] = Cast(%0) {to=f16}
    %5:f16[4, 4] = Cast(%1) {to=f16}
    %6:f16[8, 4] = MatMul(%4, %5)
    %7:f32[4] = Cast(%2) {to=f32}
    %8:f16[8, 4], %9:f32[4], %10:f32[4] = BatchNormalization(%6, %7, %3) {epsilon=0.5}
    %11:f16[8, 4] = Relu(%8)
    %12:f16[8, 4] = MatMul(%11, %5)
    %13:f32[8, 4] = Cast(%12) {to=f32}
    return "result" %13
    return "mean" %9
    "
  `);
});
