import type { Backend, BackendManifest, HostTensor } from "@mp/graph";
import { defineBackend } from "@mp/graph/backend";
import { type Findings, targetOf } from "@mp/onnx-lowering";
import { ConstantPool, PingPongSlots } from "@mp/onnx-lowering/program";
import { BoundProgram } from "./bound-program.js";
import type { NativeRuntime, NativeTensor } from "./native/index.js";
import { openSession } from "./open-session.js";
import { snapshot, snapshotAll } from "./snapshot.js";

async function createSlots(
  runtime: NativeRuntime,
  values: Readonly<Record<string, HostTensor>>,
  adjacent: readonly (readonly string[])[],
): Promise<PingPongSlots<NativeTensor>> {
  const slots = new PingPongSlots(runtime, values, adjacent);
  try {
    await runtime.expectSound();
    return slots;
  } catch (error) {
    slots.release();
    throw error;
  }
}

/** Presents ONNX Runtime as a backend. Graphs become sessions, and state stays in ORT's memory. */
export function ortBackend(runtime: NativeRuntime, manifest: BackendManifest, findings: Findings): Backend {
  const target = targetOf(findings);
  const constants = new ConstantPool(runtime);
  const { turns } = runtime;
  return defineBackend<NativeTensor, PingPongSlots<NativeTensor>>({
    name: "ort",
    manifest,
    emulationAdvice: "for speed use CUDA, or @mp/backend-openvino on a CPU with bf16 units",
    upload: (tensor) => {
      const given = snapshot(turns, tensor);
      return turns.take(() => runtime.upload(given));
    },
    download: (tensor) => turns.take(() => tensor.download()),
    release: (tensor) => void turns.take(() => tensor.release()),
    // Every run writes to the buffers that were bound before the first run.
    results: "until-next-run",
    compile: (graph, place) =>
      turns.take(async () => {
        const opened = await openSession(runtime, constants, target, { graph, ...place });
        return new BoundProgram({ ...place, ...opened, runtime, graph });
      }),
    states: {
      create: (values, adjacent) => {
        const given = snapshotAll(turns, values);
        return turns.take(() => createSlots(runtime, given, adjacent));
      },
      read: (slots, names) => turns.take(() => slots.read(names)),
      write: (slots, values) => {
        const given = snapshotAll(turns, values);
        return turns.take(() => slots.write(given));
      },
      ...(runtime.isOnHost
        ? { inPlace: (slots, names, change) => turns.take(() => slots.inPlace(names, change)) }
        : {}),
      release: (slots) => void turns.take(() => slots.release()),
      bytes: (slots) => slots.bytes,
    },
    heldBytes: () => runtime.stats().bytes,
    close: () => turns.take(() => runtime.dispose()),
  });
}
