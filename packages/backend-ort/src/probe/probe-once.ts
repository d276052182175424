import type { Findings } from "@mp/onnx-lowering";
import { probeEngine } from "@mp/onnx-lowering/probe";
import type { NativeRuntime } from "../native/index.js";
import { engineToProbe } from "./engine-to-probe.js";

/** Findings by library and device. They are kept, because an engine does not change while a process runs. */
const known = new WeakMap<NativeRuntime["library"], Map<NativeRuntime["device"], Promise<Findings>>>();

/** Probes the engine's kernels, once per process. */
export function probeOnce(runtime: NativeRuntime): Promise<Findings> {
  const { library, device } = runtime;
  const byDevice = known.get(library) ?? new Map<NativeRuntime["device"], Promise<Findings>>();
  known.set(library, byDevice);
  const findings = byDevice.get(device) ?? probeEngine(engineToProbe(runtime));
  byDevice.set(device, findings);
  // A failure belongs to the caller that asked; the next caller probes again.
  findings.catch(() => byDevice.delete(device));
  return findings;
}
