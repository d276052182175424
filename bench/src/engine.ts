import { type OrtOptions, ort } from "@mp/backend-ort";
import { type Backend, float32, MpError, mixedBfloat16, mixedFloat16, type Precision } from "@mp/core";
import type { PrecisionName } from "./job.js";

/** Opens the engine that is measured. @throws MP_BACKEND_UNAVAILABLE, MP_INVALID_ARGUMENT */
export function openEngine(options: { readonly threads: number; readonly device: string }): Promise<Backend> {
  const { threads, device } = options;
  if (device !== "cpu" && device !== "cuda") {
    throw new MpError("MP_INVALID_ARGUMENT", `device: cpu or cuda, got ${device}`);
  }
  const chosen: OrtOptions = { threads, device };
  return ort(chosen);
}

const precisions: Readonly<Record<PrecisionName, () => Precision>> = {
  float32,
  mixed_bfloat16: mixedBfloat16,
  mixed_float16: mixedFloat16,
};

export function precisionOf(name: PrecisionName): Precision {
  return precisions[name]();
}

/** What a report names beside its figures. */
export function versionsOf(backend: Backend): Readonly<Record<string, string>> {
  const { name, version } = backend.manifest.engine;
  return { [name]: version, node: process.version };
}
