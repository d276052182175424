import type { ProbedEngine } from "@mp/onnx-lowering";
import { type NativeRuntime, type NativeTensor, ON_DEVICE_ONLY } from "../native/index.js";

/** Presents a runtime as an engine to probe. Each model is loaded as a session, run once and released. */
export const engineToProbe = (runtime: NativeRuntime): ProbedEngine => ({
  device: runtime.device,
  version: runtime.library.version,
  runModel: async (...model) => runtime.turns.take(() => runOnce(runtime, ...model)),
});

type Run = ProbedEngine["runModel"];

async function runOnce(
  runtime: NativeRuntime,
  ...[model, inputs, outputs]: Parameters<Run>
): ReturnType<Run> {
  // Otherwise ops that the device lacks would run on the CPU and seem to be supported.
  const config = runtime.device === "cpu" ? {} : ON_DEVICE_ONLY;
  const session = await runtime.createSession(model, { config });
  const held: NativeTensor[] = [];
  try {
    const binding = runtime.bind(session);
    try {
      for (const [name, value] of inputs) {
        const input = runtime.upload(value);
        held.push(input);
        binding.bindInput(name, input);
      }
      const results = new Map<string, NativeTensor>();
      for (const [name, type] of outputs) {
        const result = runtime.allocate(type);
        held.push(result);
        results.set(name, result);
        binding.bindOutput(name, result);
      }
      binding.runSync();
      return new Map([...results].map(([name, result]) => [name, result.read()]));
    } finally {
      binding.release();
    }
  } finally {
    for (const tensor of held) tensor.release();
    session.release();
  }
}
