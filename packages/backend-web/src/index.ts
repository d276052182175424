import { type Backend, MpError } from "@mp/graph";
import { checks, readOptions } from "@mp/graph/internal";
import { type Findings, knownFindings } from "@mp/onnx-lowering";
import type { InferenceSession } from "onnxruntime-web/webgpu";
import { webBackend } from "./backend.js";
import { engineToProbe } from "./engine-to-probe.js";
import { webManifest } from "./manifest.js";
import { openDevice, type PowerPreference } from "./open-device.js";
import { type OrtWeb, WebEngine } from "./web-engine.js";

export type { PowerPreference } from "./open-device.js";

/** Options of `ortWeb`. */
export interface OrtWebOptions {
  /** Which GPU to ask for, on a machine with several; default the browser's choice. */
  readonly powerPreference?: PowerPreference;
  /**
   * A `GPUDevice` that the program opened itself, to share it with the program's own shaders. It stays open when the
   * backend is disposed of. Default: a device of the backend's own, with all that the adapter has for kernels.
   */
  readonly device?: InferenceSession.WebGpuExecutionProviderOption["device"];
}

const OPTIONS = {
  powerPreference: checks.optional(checks.oneOf("low-power", "high-performance")),
  device: checks.optional(checks.object),
};

/**
 * Opens onnxruntime-web on the GPU, in a page or a worker.
 * @example
 * ```ts
 * const backend = await ortWeb();
 * ```
 * @throws MP_INVALID_ARGUMENT for an unknown option
 * @throws MP_BACKEND_UNAVAILABLE if there is no WebGPU, no adapter, or no `onnxruntime-web`
 */
export async function ortWeb(options: OrtWebOptions = {}): Promise<Backend> {
  readOptions("ortWeb", options, OPTIONS, { example: '{ powerPreference: "high-performance" }' });
  const { device, powerPreference } = options;
  const engine = new WebEngine(
    await loadOrt(),
    device === undefined ? await openDevice(powerPreference) : { device: device as GPUDevice, isOwn: false },
  );
  try {
    const findings = await lookUpFindings(engine);
    return webBackend(engine, webManifest(engine.version, findings), findings);
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** To probe kernels takes as long as a shader of each to compile, so a page asks only those of an unknown version. */
async function lookUpFindings(engine: WebEngine): Promise<Findings> {
  const asked = engineToProbe(engine);
  const native = engine.features.has("shader-f16") ? (["f16"] as const) : [];
  const known = knownFindings(asked, native);
  if (known !== undefined) return known;
  const { probeEngine } = await import("@mp/onnx-lowering/probe");
  return probeEngine(asked);
}

async function loadOrt(): Promise<OrtWeb> {
  try {
    return await import("onnxruntime-web/webgpu");
  } catch (cause) {
    throw new MpError(
      "MP_BACKEND_UNAVAILABLE",
      "ortWeb: onnxruntime-web is missing: npm install onnxruntime-web",
      {
        cause,
      },
    );
  }
}
