import { type Backend, MpError } from "@mp/graph";
import { checks, readOptions } from "@mp/graph/internal";
import { type Findings, knownFindings } from "@mp/onnx-lowering";
import type { InferenceSession } from "onnxruntime-web/webgpu";
import { webBackend } from "./backend.js";
import { engineToProbe } from "./engine-to-probe.js";
import { webManifest } from "./manifest.js";
import { openDevice } from "./open-device.js";
import { type OrtWeb, WebEngine } from "./web-engine.js";

/** Which of the machine's GPUs to request from the browser. */
export type PowerPreference = "low-power" | "high-performance";

/** Options of `ortWeb`; all may be left out. */
export interface OrtWebOptions {
  /** Which GPU to request if there are several; default: the browser's choice. */
  readonly powerPreference?: PowerPreference;
  /**
   * A `GPUDevice` that the program opened itself, to share it with its own shaders; the backend does not close it.
   * Default: a device of the backend's own, with all features of the adapter that kernels use.
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

/** Looks up the findings, or probes an engine of unknown version, which compiles a shader for each kernel. */
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
