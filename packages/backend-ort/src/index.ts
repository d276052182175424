import { type Backend, MpError } from "@mp/core";
import { checkOptions, type OptionNames } from "@mp/core/internal";
import { ortBackend } from "./backend.js";
import { ortManifest } from "./manifest.js";
import { openRuntime, type RuntimeOptions } from "./native/index.js";
import { probeEngine } from "./probe/findings.js";

export type OrtOptions = RuntimeOptions;

const OPTIONS: OptionNames<OrtOptions> = {
  device: true,
  cuda: true,
  library: true,
  searchFrom: true,
  platform: true,
  arch: true,
  threads: true,
  spinning: true,
};
const DEVICES: readonly unknown[] = ["cpu", "cuda"];

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
  checkOptions("ort", options, OPTIONS, '{ device: "cpu" }');
  const { device = "cpu" } = options;
  if (!DEVICES.includes(device)) {
    throw new MpError("MP_INVALID_ARGUMENT", `ort: device is cpu or cuda, got ${JSON.stringify(device)}`);
  }
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
