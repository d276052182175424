import type { Backend } from "@mp/core";
import { checks, readOptions, withDefault } from "@mp/core/internal";
import { ortBackend } from "./backend.js";
import { ortManifest } from "./manifest.js";
import { openRuntime, type RuntimeOptions } from "./native/index.js";
import { probeEngine } from "./probe/findings.js";

export type OrtOptions = RuntimeOptions;

const { integer, listOf, oneOf, optional, text, truth } = checks;

const CUDA = {
  deviceId: optional(integer(0)),
  provider: optional(
    checks.claim("options of the provider by name", (value) => typeof value === "object" && value !== null),
  ),
};

const ORT = {
  device: withDefault("cpu", oneOf("cpu", "cuda")),
  cuda: (what: string, cuda: unknown) => {
    if (cuda !== undefined)
      readOptions(what, cuda as NonNullable<OrtOptions["cuda"]>, CUDA, { example: "{ deviceId: 0 }" });
  },
  library: optional(text),
  searchFrom: optional(listOf("paths", (path) => typeof path === "string")),
  platform: optional(text),
  arch: optional(text),
  threads: optional(integer(0, 1024)),
  spinning: optional(truth),
};

/**
 * Opens ONNX Runtime: on the CPU with the library that `onnxruntime-node` ships, or on CUDA.
 * @example
 * ```ts
 * const backend = await ort();
 * ```
 * @throws MP_INVALID_ARGUMENT for an unknown option or device
 * @throws MP_BACKEND_UNAVAILABLE naming the package, library or driver that is missing and what installs it
 */
export async function ort(options: OrtOptions = {}): Promise<Backend> {
  readOptions("ort", options, ORT, { example: '{ device: "cpu" }' });
  const runtime = await openRuntime(options);
  try {
    const engine = { name: "onnxruntime", version: runtime.library.version };
    const findings = await probeEngine(runtime);
    return ortBackend(runtime, ortManifest(engine, runtime.device, findings), findings);
  } catch (error) {
    await runtime.dispose();
    throw error;
  }
}
