import { ort } from "@mp/backend-ort";
import { loadTfjsNode, tfjs } from "@mp/backend-tfjs";
import { type Backend, float32, MpError, mixedBfloat16, mixedFloat16, type Precision } from "@mp/core";
import type { EngineChoice, EngineName, PrecisionName } from "./job.js";

type Device = "cpu" | "cuda";

const engines: Readonly<Record<EngineName, (threads: number, device: Device) => Promise<Backend>>> = {
  ort: (threads, device) => ort({ threads, device }),
  tfjs: async (threads, device) => {
    // TensorFlow reads these when it creates its thread pools, at the first session.
    process.env["TF_NUM_INTRAOP_THREADS"] = String(threads);
    process.env["TF_NUM_INTEROP_THREADS"] = String(threads);
    return tfjs({ tf: await loadTfjsNode({ device }) });
  },
};

/** Opens the engine that is measured. @throws MP_BACKEND_UNAVAILABLE, MP_INVALID_ARGUMENT */
export function openEngine({ engine, threads, device }: EngineChoice): Promise<Backend> {
  if (device !== "cpu" && device !== "cuda") {
    throw new MpError("MP_INVALID_ARGUMENT", `device: cpu or cuda, got ${device}`);
  }
  return engines[engine](threads, device);
}

const precisions: Readonly<Record<PrecisionName, () => Precision>> = {
  float32,
  mixed_bfloat16: mixedBfloat16,
  mixed_float16: mixedFloat16,
};

export function precisionOf(name: PrecisionName): Precision {
  return precisions[name]();
}

/** Versions that a report lists with its figures. */
export function versionsOf(backend: Backend): Readonly<Record<string, string>> {
  const { name, version } = backend.manifest.engine;
  return { [name]: version, node: process.version };
}
