import { exactNumerics } from "../src/backend/manifest.js";
import type { Backend } from "../src/contract/backend.js";
import { tensor } from "../src/host/host-tensor.js";
import { type KernelBackendOptions, kernelBackend } from "../src/kernel-backend/kernel-backend.js";

/** A backend of kernels over plain arrays of f32, valid and without kernels; the given options replace its parts. */
export function arrayBackend(options: Partial<KernelBackendOptions<Float32Array>> = {}): Backend {
  return kernelBackend<Float32Array>({
    name: "arrays",
    manifest: {
      ...exactNumerics,
      engine: { name: "arrays", version: "1" },
      device: "cpu",
      dtypes: { f32: { storage: "f32", compute: "native" } },
      tolerance: { default: { f32: 0, f16: 0, bf16: 0 } },
      eventLoop: "blocked-during-step",
    },
    upload: ({ data }) => Float32Array.from(data as Float32Array),
    download: (data, { shape }) => tensor(data.slice(), shape),
    kernels: {},
    ...options,
  });
}
