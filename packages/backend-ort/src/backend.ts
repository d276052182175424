import type { Backend, BackendManifest } from "@mp/core";
import { defineBackend } from "@mp/core/backend";
import { BoundProgram } from "./bound-program.js";
import { ConstantPool } from "./constant-pool.js";
import { emulatedAmong } from "./dtype.js";
import type { NativeRuntime, NativeTensor } from "./native/index.js";
import { openSession } from "./open-session.js";
import { PingPongSlots } from "./ping-pong-slots.js";
import type { Findings } from "./probe/findings.js";
import type { Target } from "./target.js";

/** ONNX Runtime as a backend: graphs become sessions, state stays in ORT's memory. */
export function ortBackend(runtime: NativeRuntime, manifest: BackendManifest, findings: Findings): Backend {
  const { nativeHalves, widened, blockSize, castsThroughDoubles } = findings;
  const emulated = emulatedAmong(nativeHalves);
  const target: Target = { device: runtime.device, emulated, widened, blockSize, castsThroughDoubles };
  const constants = new ConstantPool(runtime);
  return defineBackend<NativeTensor, PingPongSlots>({
    name: "ort",
    manifest,
    emulationAdvice: "for speed use CUDA, or @mp/backend-tfjs on a CPU with bf16 units",
    upload: (tensor) => runtime.upload(tensor),
    download: (tensor) => tensor.read(),
    release: (tensor) => tensor.release(),
    // They are bound in advance.
    results: "until-next-run",
    compile: async (graph, place) => {
      const opened = await openSession(runtime, constants, target, { graph, ...place });
      return new BoundProgram({ ...place, ...opened, runtime, graph });
    },
    states: {
      create: (values) => new PingPongSlots(runtime, values),
      read: (slots, names) => slots.read(names),
      write: (slots, values) => slots.write(values),
      release: (slots) => slots.release(),
      bytes: (slots) => slots.bytes,
    },
    heldBytes: () => runtime.stats().bytes,
    close: () => runtime.dispose(),
  });
}
