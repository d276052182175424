/**
 * The operators that replace kernels missing in WebGPU exist on the processor as well: there it must give the oracle's
 * results too. Left out is what the processor's own kernels get wrong and WebGPU's do not: its Where loses the sign of
 * zero, and its sums and products of integers saturate.
 */

import { allCases, failuresOf, runConformance } from "@mp/conformance";
import type { Backend } from "@mp/graph";
import { knownFindings } from "@mp/onnx-lowering";
import { afterAll, beforeAll, expect, it } from "vitest";
import { seed } from "../../safetensors/test/soak/size.js";
import { openRuntime } from "../src/native/index.js";
import { engineToProbe } from "../src/probe/engine-to-probe.js";
import { composedBackend } from "./composed-backend.js";

let runtime: Awaited<ReturnType<typeof openRuntime>>;
beforeAll(async () => {
  runtime = await openRuntime();
});
afterAll(() => runtime.dispose());

function composed(): Backend {
  const engine = engineToProbe(runtime);
  const findings = knownFindings({ device: "webgpu", version: engine.version }, ["f16"]);
  if (findings === undefined) throw new Error(`nothing is known of ${engine.version}`);
  return composedBackend(engine, findings);
}

const COMPOSED = [
  ...["Sign", "Exp", "Log", "Erf", "Tanh", "Relu", "Elu", "Clip", "IsNaN", "IsInf", "Identity", "Cast"],
  ...["Pow", "Mod", "Abs", "Neg", "Equal", "Or", "Xor", "Where", "Add", "Mul", "Conv", "ConvTranspose"],
  ...["ReduceMax", "ReduceMin", "ReduceLogSumExp", "ArgMax", "ArgMin", "TopK", "MaxPool", "MaxPoolGradient"],
  ...["Softmax", "LogSoftmax", "LayerNormalization", "RMSNormalization", "BatchNormalization"],
  ...["BatchNormalizationGradient", "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss", "OneHot"],
  ...["Slice", "Concat", "Split", "Pad", "Tile", "Expand", "Transpose", "GatherElements", "ScatterElements"],
];
const CASE = new RegExp(`^op/(${COMPOSED.join("|")})-(f32|i32|u8|bool|i64|u64)/`);
/** The same nodes on the same numbers in other layouts, and labels that WebGPU's kernels do not check. */
const LEFT_OUT = /(transposed|sliced)-operands$|indices-outside-fail$/;

it("compositions for WebGPU give the oracle's results on the processor", async () => {
  const all = allCases.filter(({ id }) => CASE.test(id) && !LEFT_OUT.test(id));
  // A third of them, others each day.
  const cases = all.filter((_, at) => at % 3 === seed % 3);
  const report = await runConformance({ factory: composed, cases });
  expect(failuresOf(report)).toEqual([]);
  expect(report.counts.passed).toBeGreaterThan(100);
});
