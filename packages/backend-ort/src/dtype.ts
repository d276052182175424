import type { BackendManifest, HalfDType } from "@mp/core";

const HALVES: readonly HalfDType[] = ["f16", "bf16"];

/** The halves that the engine stores and converts but does not compute in. */
export function emulatedHalves(manifest: BackendManifest): readonly HalfDType[] {
  return HALVES.filter((dtype) => {
    const support = manifest.dtypes[dtype];
    return "compute" in support && support.compute === "emulated";
  });
}
