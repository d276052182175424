import type { ProbedEngine } from "@mp/onnx-lowering";
import type { NativeRuntime, NativeTensor } from "../native/index.js";

/** A runtime as an engine to probe: each model is compiled, run once and released. */
export const probedEngine = (runtime: NativeRuntime): ProbedEngine => ({
  device: "cpu",
  version: runtime.library.version,
  runModel: async (bytes, inputs, outputs) => {
    const held: NativeTensor[] = [];
    const hold = (tensor: NativeTensor): NativeTensor => {
      held.push(tensor);
      return tensor;
    };
    const model = await runtime.compile(bytes, { isKept: false });
    try {
      const request = runtime.request(model);
      try {
        for (const [name, value] of inputs) request.bind(name, hold(runtime.upload(value)));
        const results = [...outputs].map(([name, type]) => [name, hold(runtime.allocate(type))] as const);
        for (const [name, buffer] of results) request.bind(name, buffer);
        await request.runAsync();
        return new Map(results.map(([name, buffer]) => [name, buffer.download()]));
      } finally {
        request.release();
      }
    } finally {
      for (const tensor of held) tensor.release();
      model.release();
    }
  },
});
