import type { Backend } from "@mp/core";
import type { BackendName, CommonOptions, DeviceName } from "../common-flags.js";
import { UsageError } from "../run-app.js";

/** Opens an engine. `threads` limits its threads if the engine can; undefined lets the engine choose. */
type Open = (device: DeviceName, threads?: number) => Promise<Backend>;

function requireProcessor(backend: BackendName, device: DeviceName): void {
  if (device !== "cpu") throw new UsageError(`--backend ${backend} has no device but cpu`);
}

const backends: Readonly<Record<BackendName, Open>> = {
  ort: async (device, threads) =>
    (await import("@mp/backend-ort")).ort({ device, ...(threads === undefined ? {} : { threads }) }),
  openvino: async (device, threads) => {
    requireProcessor("openvino", device);
    return (await import("@mp/backend-openvino")).openvino(threads === undefined ? {} : { threads });
  },
  reference: async (device) => {
    requireProcessor("reference", device);
    return (await import("@mp/core/reference")).reference();
  },
  tfjs: async (device) => {
    if (device === "webgpu") throw new UsageError("--backend tfjs has no device webgpu, --backend ort has");
    const { loadTfjsNode, tfjs } = await import("@mp/backend-tfjs");
    return tfjs({ tf: await loadTfjsNode({ device }) });
  },
  xla: async (device) => {
    if (device === "webgpu") throw new UsageError("--backend xla has no device webgpu, --backend ort has");
    return (await import("@mp/backend-xla")).xla({ device });
  },
};

/** Opens the engine that the flags name. @throws MP_BACKEND_UNAVAILABLE, saying what to install */
export function backendOf(
  { backend, device }: Pick<CommonOptions, "backend" | "device">,
  threads?: number,
): Promise<Backend> {
  return backends[backend](device, threads);
}

/**
 * Opens the engine that the flags name, calls `run` with it, and closes the engine when `run` has ended.
 * @throws MP_BACKEND_UNAVAILABLE, saying what to install
 */
export async function onBackend<T>(
  options: Pick<CommonOptions, "backend" | "device">,
  run: (backend: Backend) => Promise<T>,
  threads?: number,
): Promise<T> {
  const backend = await backendOf(options, threads);
  try {
    return await run(backend);
  } finally {
    await backend.dispose();
  }
}
