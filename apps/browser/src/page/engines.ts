import { ortWeb } from "@mp/backend-web";
import { type Backend, MpError } from "@mp/core";
import { unsupportedReason } from "@mp/core/backend";
import type { OpenedRun, RunName } from "./messages.js";

export interface Engine extends OpenedRun {
  readonly backend: Backend;
}

/**
 * The engine of each run: the GPU where the browser gives one and it computes that precision, else the reference backend,
 * which computes every precision exactly, on the processor.
 */
export async function openEngines(
  wanted: "webgpu" | "reference",
): Promise<Readonly<Record<RunName, Engine>>> {
  if (wanted === "reference") {
    const engine = await onProcessor("asked for by ?engine=reference");
    return { float32: engine, float16: engine };
  }
  let gpu: Engine;
  try {
    const backend = await ortWeb();
    const { name, version } = backend.manifest.engine;
    gpu = { backend, engine: `GPU, ${name} ${version}`, remark: undefined };
  } catch (error) {
    if (!MpError.is(error) || error.code !== "MP_BACKEND_UNAVAILABLE") throw error;
    const engine = await onProcessor(error.message);
    return { float32: engine, float16: engine };
  }
  const reason = unsupportedReason(gpu.backend.manifest.dtypes.f16);
  if (reason === undefined) return { float32: gpu, float16: gpu };
  return { float32: gpu, float16: await onProcessor(`no float16 on this GPU: ${reason}`) };
}

async function onProcessor(reason: string): Promise<Engine> {
  const { reference } = await import("@mp/core/reference");
  return {
    backend: await reference(),
    engine: "processor, reference backend",
    remark: `${reason}; float16 is emulated exactly, and slow`,
  };
}
