import { deriveManifest, exactNumerics, type KernelManifest } from "../src/backend/manifest.js";
import type { BackendManifest } from "../src/contract/manifest.js";
import type { Op } from "../src/graph/attributes.js";

const native = { storage: "f32", compute: "native" } as const;

/** A backend that has everything in f32, f16, bf16 and i32, but for the changes. */
export function manifestOf(
  changes: Partial<KernelManifest> = {},
  hasKernel: (op: Op) => boolean = () => true,
): BackendManifest {
  const claims: KernelManifest = {
    engine: { name: "test", version: "1" },
    device: "cpu",
    dtypes: { f32: native, f16: native, bf16: native, i32: { storage: "i32", compute: "native" } },
    ...exactNumerics,
    tolerance: { default: { f32: 0, f16: 0, bf16: 0 } },
    eventLoop: "free",
  };
  return deriveManifest({ ...claims, ...changes }, hasKernel);
}
