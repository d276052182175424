import type { Backend } from "@mp/core";
import { OrtBackend } from "./backend.js";
import { ortManifest } from "./manifest.js";
import { openRuntime, type RuntimeOptions } from "./native/index.js";
import { probeEngine } from "./probe/findings.js";

export type OrtOptions = RuntimeOptions;

/**
 * Opens ONNX Runtime: on the CPU with what `onnxruntime-node` brings, or on CUDA.
 * @example
 * ```ts
 * const backend = await ort();
 * ```
 * @throws MP_BACKEND_UNAVAILABLE naming the package, library or driver that is missing and what installs it
 */
export async function ort(options: OrtOptions = {}): Promise<Backend> {
  const runtime = await openRuntime(options);
  try {
    const engine = { name: "onnxruntime", version: runtime.library.version };
    return new OrtBackend(runtime, ortManifest(engine, runtime.device, await probeEngine(runtime)));
  } catch (error) {
    await runtime.dispose();
    throw error;
  }
}
