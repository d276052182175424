import type { Findings } from "@mp/onnx-lowering";
import { probeEngine } from "@mp/onnx-lowering/probe";
import type { NativeRuntime } from "../native/index.js";
import { keptAnswer } from "./kept-answer.js";
import { probedEngine } from "./probed-engine.js";

/** Findings by library: an engine does not change while a process runs. */
const known = new WeakMap<NativeRuntime["library"], Promise<Findings>>();

/**
 * Probes the engine's kernels: once for a library, a processor and a release of these packages, since the findings are kept
 * in the user's cache.
 */
export function findingsOf(runtime: NativeRuntime): Promise<Findings> {
  const { library } = runtime;
  const findings =
    known.get(library) ?? keptAnswer(runtime, "findings", () => probeEngine(probedEngine(runtime)));
  known.set(library, findings);
  // A failure belongs to the runtime that asked; the next one probes again.
  findings.catch(() => known.delete(library));
  return findings;
}
