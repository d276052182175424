import type { Backend, BackendManifest, HostTensor } from "@mp/graph";
import { defineBackend } from "@mp/graph/backend";
import { lowerGraph, type Target } from "@mp/onnx-lowering";
import { ConstantPool, PingPongSlots, releaseConstants } from "@mp/onnx-lowering/program";
import { BoundProgram, type ProgramParts } from "./bound-program.js";
import type { NativeRuntime, NativeTensor } from "./native/index.js";

type Slots = PingPongSlots<NativeTensor>;

/** Presents OpenVINO as a backend. Graphs become compiled models, and state stays in the library's memory. */
export function openvinoBackend(runtime: NativeRuntime, manifest: BackendManifest, target: Target): Backend {
  const pool = new ConstantPool<NativeTensor>(runtime);
  const compile = async (parts: Omit<ProgramParts, "runtime" | "lowered" | "model" | "constants">) => {
    const lowered = lowerGraph(parts.graph, target);
    const constants = pool.acquireAll(lowered.constants);
    const model = await runtime.compile(lowered.model).catch((error: unknown) => {
      releaseConstants(constants);
      throw error;
    });
    return new BoundProgram({ ...parts, runtime, lowered, constants, model });
  };
  return defineBackend<NativeTensor, Slots>({
    name: "openvino",
    manifest,
    emulationAdvice: "for speed use bfloat16 on a processor with AVX512-BF16 or AMX",
    upload: (tensor: HostTensor) => runtime.upload(tensor),
    download: (tensor) => tensor.download(),
    release: (tensor) => tensor.release(),
    // Every run writes to the buffers that were bound before the first run.
    results: "until-next-run",
    compile: (graph, place) => compile({ ...place, graph }),
    states: {
      create: async (values, adjacent) => new PingPongSlots(runtime, values, adjacent),
      read: (slots, names) => slots.read(names),
      write: (slots, values) => slots.write(values),
      inPlace: (slots, names, change) => slots.inPlace(names, change),
      release: (slots) => slots.release(),
      bytes: (slots) => slots.bytes,
    },
    heldBytes: () => runtime.stats().bytes,
    close: () => runtime.dispose(),
  });
}
