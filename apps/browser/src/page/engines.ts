import { ortWeb } from "@mp/backend-web";
import { type Backend, MpError } from "@mp/core";
import { unsupportedReason } from "@mp/core/backend";
import type { OpenedRun, RunName } from "./messages.js";

export interface Engine extends OpenedRun {
  readonly backend: Backend;
}

/**
 * Opens an engine for each run: the GPU if the browser has one that computes the precision, else the reference
 * backend, which computes every precision exactly on the processor.
 */
export async function openEngines(
  wanted: "webgpu" | "reference",
): Promise<Readonly<Record<RunName, Engine>>> {
  if (wanted === "reference") {
    const engine = await onProcessor(
      "Training runs on the processor, as ?engine=reference in the address asks.",
    );
    return { float32: engine, float16: engine };
  }
  let gpu: Engine;
  try {
    const backend = await ortWeb();
    const { name, version } = backend.manifest.engine;
    gpu = { backend, engine: `GPU, ${name} ${version}`, remark: undefined };
  } catch (error) {
    if (!MpError.is(error) || error.code !== "MP_BACKEND_UNAVAILABLE") throw error;
    console.log(error.message);
    const engine = await onProcessor(
      "This browser offers no GPU (through WebGPU), so training runs on the processor: slower, but it learns the same. " +
        "A current Chrome, Edge or Safari on a computer with a GPU is faster.",
    );
    return { float32: engine, float16: engine };
  }
  const reason = unsupportedReason(gpu.backend.manifest.dtypes.f16);
  if (reason === undefined) return { float32: gpu, float16: gpu };
  console.log(reason);
  const float16 = await onProcessor(
    "This GPU cannot compute in float16, so that network trains on the processor: slower, but it learns the same.",
  );
  return { float32: gpu, float16 };
}

async function onProcessor(remark: string): Promise<Engine> {
  const { reference } = await import("@mp/core/reference");
  return { backend: await reference(), engine: "processor", remark };
}
