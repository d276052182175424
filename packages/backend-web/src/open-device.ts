import { MpError } from "@mp/graph";

/** An open GPU device, and who closes it. */
export interface OpenDevice {
  readonly device: GPUDevice;
  /** Whether the backend opened the device, and so closes it. */
  readonly isOwn: boolean;
}

/** Features that kernels use if the adapter has them. */
const FEATURES: readonly GPUFeatureName[] = ["shader-f16", "subgroups"];

/** Limits requested from the adapter. By default a device only gets the limits that every adapter has. */
const LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupSizeY",
  "maxComputeWorkgroupSizeZ",
  "maxComputeWorkgroupsPerDimension",
] as const;

/**
 * Opens a device with all features and limits of the adapter that kernels use.
 * @throws MP_BACKEND_UNAVAILABLE if there is no WebGPU, no adapter, or the adapter gives no device
 */
export async function openDevice(powerPreference: GPUPowerPreference | undefined): Promise<OpenDevice> {
  const { navigator } = globalThis as { readonly navigator?: { readonly gpu?: GPU } };
  const gpu = navigator?.gpu;
  if (gpu === undefined) {
    throw unavailable(
      "there is no navigator.gpu: use a browser with WebGPU, on a page from https or localhost; in Node.js, the package webgpu",
    );
  }
  const adapter = await gpu.requestAdapter(powerPreference === undefined ? {} : { powerPreference });
  if (adapter === null) {
    throw unavailable(
      "WebGPU has no adapter for a GPU of this machine: see chrome://gpu or about:support for why",
    );
  }
  const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]]));
  const requiredFeatures = FEATURES.filter((feature) => adapter.features.has(feature));
  try {
    return { device: await adapter.requestDevice({ requiredFeatures, requiredLimits }), isOwn: true };
  } catch (error) {
    throw unavailable(`the adapter gave no device: ${error instanceof Error ? error.message : error}`, error);
  }
}

const unavailable = (problem: string, cause?: unknown): MpError =>
  new MpError("MP_BACKEND_UNAVAILABLE", `ortWeb: ${problem}`, cause === undefined ? {} : { cause });
