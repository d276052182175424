import type { HostTensor } from "@mp/graph";
import type { ProbedEngine } from "@mp/onnx-lowering";
import type { GpuTensor } from "./gpu-memory.js";
import type { WebEngine } from "./web-engine.js";

/** Presents the engine for a probe. Each model is loaded as a session, run once and released. */
export const engineToProbe = (engine: WebEngine): ProbedEngine => ({
  device: "webgpu",
  version: engine.version,
  runModel: async (model, inputs, outputs) => {
    const { session } = await engine.load(model);
    const { memory } = engine;
    const held: GpuTensor[] = [];
    try {
      const [fed, returned] = await memory.allocating(
        () =>
          [inputs, outputs].map((types) =>
            [...types].map(([name, type]) => {
              const buffer = memory.allocate(type);
              held.push(buffer);
              return [name, buffer] as const;
            }),
          ) as [[string, GpuTensor][], [string, GpuTensor][]],
      );
      for (const [name, buffer] of fed) memory.write(buffer, inputs.get(name) as HostTensor);
      await engine.run(session, fed, returned);
      const values = await memory.read(returned.map(([, buffer]) => buffer));
      return new Map(returned.map(([name], index) => [name, values[index] as HostTensor]));
    } finally {
      for (const buffer of held) memory.release(buffer);
      engine.release(session);
    }
  },
});
