import type { HalfDType } from "@mp/graph";
import type { ProbedEngine } from "@mp/onnx-lowering";
import type { NativeRuntime } from "../native/index.js";
import { runOnce } from "./run-once.js";

/** Presents a runtime as an engine to probe. */
export const engineToProbe = (runtime: NativeRuntime, products: readonly HalfDType[]): ProbedEngine => ({
  device: "cpu",
  version: runtime.library.version,
  products,
  runModel: async (...model) => (await runOnce(runtime, ...model)).results,
});
