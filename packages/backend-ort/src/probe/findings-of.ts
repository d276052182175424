import type { Findings } from "@mp/onnx-lowering";
import { probeEngine } from "@mp/onnx-lowering/probe";
import type { NativeRuntime } from "../native/index.js";
import { probedEngine } from "./probed-engine.js";

/** By library and device: an engine does not change while a process runs. */
const known = new WeakMap<NativeRuntime["library"], Map<NativeRuntime["device"], Promise<Findings>>>();

/** Probes the engine's kernels, once per process. */
export function findingsOf(runtime: NativeRuntime): Promise<Findings> {
  const { library, device } = runtime;
  const ofLibrary = known.get(library) ?? new Map<NativeRuntime["device"], Promise<Findings>>();
  known.set(library, ofLibrary);
  const findings = ofLibrary.get(device) ?? probeEngine(probedEngine(runtime));
  ofLibrary.set(device, findings);
  // A failure belongs to the runtime that asked; the next one probes again.
  findings.catch(() => ofLibrary.delete(device));
  return findings;
}
