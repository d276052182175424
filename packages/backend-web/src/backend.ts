import type { Backend, BackendManifest } from "@mp/graph";
import { defineBackend } from "@mp/graph/backend";
import { type Findings, lowerGraph, targetOf } from "@mp/onnx-lowering";
import { BoundProgram, isOnGpu, type WebTensor } from "./bound-program.js";
import { GpuSlots } from "./gpu-slots.js";
import type { WebEngine } from "./web-engine.js";

/** Presents onnxruntime-web as a backend. Graphs become sessions, and state stays in GPU buffers. */
export function webBackend(engine: WebEngine, manifest: BackendManifest, findings: Findings): Backend {
  const { memory } = engine;
  const target = targetOf(findings);
  return defineBackend<WebTensor, GpuSlots>({
    name: "ortWeb",
    manifest,
    upload: (tensor) =>
      memory.allocating(
        () => {
          const buffer = memory.allocate(tensor);
          memory.write(buffer, tensor);
          return buffer;
        },
        (buffer) => memory.release(buffer),
      ),
    download: async (tensor) => (isOnGpu(tensor) ? (await memory.read([tensor]))[0] : tensor) as never,
    release: (tensor) => {
      if (isOnGpu(tensor)) memory.release(tensor);
    },
    bytes: (tensor) => (isOnGpu(tensor) ? tensor.buffer.size : 0),
    compile: async (graph, place) => {
      const lowered = lowerGraph(graph, target);
      const loaded = await engine.load(lowered.model);
      return memory.allocating(
        () => new BoundProgram({ ...place, engine, graph, lowered, ...loaded }),
        (program) => program.dispose(),
      );
    },
    states: {
      create: (values) =>
        memory.allocating(
          () => new GpuSlots(memory, values),
          (slots) => slots.release(),
        ),
      read: (slots, names) => slots.read(names),
      write: (slots, values) => slots.write(values),
      release: (slots) => slots.release(),
      bytes: (slots) => slots.bytes,
    },
    heldBytes: () => memory.bytes,
    close: () => engine.close(),
  });
}
