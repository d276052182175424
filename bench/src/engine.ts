import { openvino } from "@mp/backend-openvino";
import { type OrtOptions, ort } from "@mp/backend-ort";
import { loadTfjsNode, tfjs } from "@mp/backend-tfjs";
import { type XlaOptions, xla } from "@mp/backend-xla";
import { type Backend, float8, float32, mixedBfloat16, mixedFloat16, type Precision } from "@mp/core";
import type { EngineChoice, EngineName, PrecisionName } from "./job.js";

const engines: Readonly<Record<EngineName, (choice: EngineChoice) => Promise<Backend>>> = {
  // A device that this release does not know is refused by the backend, by its name.
  ort: ({ threads, device, cuda }) =>
    ort({ threads, device, ...(cuda === undefined ? {} : { cuda }) } as OrtOptions),
  tfjs: async ({ threads, device }) => {
    // TensorFlow reads these when it creates its thread pools, at the first session.
    process.env["TF_NUM_INTRAOP_THREADS"] = String(threads);
    process.env["TF_NUM_INTEROP_THREADS"] = String(threads);
    return tfjs({ tf: await loadTfjsNode({ device: device as "cpu" | "cuda" }) });
  },
  openvino: ({ threads }) => openvino({ threads }),
  // XLA's plugin for processors uses all cores, whatever `threads` says.
  xla: ({ device, flashAttention = false }) => xla({ device, flashAttention } as XlaOptions),
};

/** Opens the engine that is measured. @throws MP_BACKEND_UNAVAILABLE, MP_INVALID_ARGUMENT */
export const openEngine = (choice: EngineChoice): Promise<Backend> => engines[choice.engine](choice);

/** Opens the engine for as long as the function runs. @throws as `openEngine` */
export async function onEngine<R>(choice: EngineChoice, run: (backend: Backend) => Promise<R>): Promise<R> {
  const backend = await openEngine(choice);
  try {
    return await run(backend);
  } finally {
    await backend.dispose();
  }
}

/** The precisions by the names of the command line. */
export const precisions: Readonly<Record<PrecisionName, () => Precision>> = {
  float32,
  mixed_bfloat16: mixedBfloat16,
  mixed_float16: mixedFloat16,
  float8,
  float8_bfloat16: () => ({ ...float8(), policy: mixedBfloat16().policy }),
};

/** Versions that a report lists with its figures. */
export function engineVersions(backend: Backend): Readonly<Record<string, string>> {
  const { name, version } = backend.manifest.engine;
  return { [name]: version, node: process.version };
}
