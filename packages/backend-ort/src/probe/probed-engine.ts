import type { ProbedEngine } from "@mp/onnx-lowering";
import { type NativeRuntime, type NativeTensor, ON_DEVICE_ONLY } from "../native/index.js";

/** The runtime as lowering probes it: each model is a session that is loaded, run once and released. */
export const probedEngine = (runtime: NativeRuntime): ProbedEngine => ({
  device: runtime.device,
  version: runtime.library.version,
  runModel: async (model, inputs, outputs) =>
    runtime.turns.take(() => runOnce(runtime, model, inputs, outputs)),
});

type Run = ProbedEngine["runModel"];

async function runOnce(
  runtime: NativeRuntime,
  model: Parameters<Run>[0],
  inputs: Parameters<Run>[1],
  outputs: Parameters<Run>[2],
): ReturnType<Run> {
  // Otherwise ops that the device lacks would run on the CPU and seem to be supported.
  const config = runtime.device === "cpu" ? {} : ON_DEVICE_ONLY;
  const session = await runtime.createSession(model, { config });
  const held: NativeTensor[] = [];
  const hold = (tensor: NativeTensor): NativeTensor => {
    held.push(tensor);
    return tensor;
  };
  try {
    const binding = runtime.bind(session);
    try {
      for (const [name, value] of inputs) binding.bindInput(name, hold(runtime.upload(value)));
      const results = [...outputs].map(([name, type]) => [name, hold(runtime.allocate(type))] as const);
      for (const [name, buffer] of results) binding.bindOutput(name, buffer);
      binding.runSync();
      return new Map(results.map(([name, buffer]) => [name, buffer.read()]));
    } finally {
      binding.release();
    }
  } finally {
    for (const tensor of held) tensor.release();
    session.release();
  }
}
