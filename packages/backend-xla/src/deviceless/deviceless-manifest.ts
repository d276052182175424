import type { BackendManifest } from "@mp/graph";
import { NATIVE, supportedOps } from "../manifest.js";
import type { Plugin } from "../pjrt/index.js";

const NOT_RUN = { unsupported: "graphs are compiled for a device that is not here, and not run" } as const;

/** Everything is computed natively on the GPUs that are compiled for; nothing of it has been probed. */
export function devicelessManifest({ apiVersion }: Plugin, flashAttention: boolean): BackendManifest {
  return {
    ...NATIVE,
    ops: supportedOps(flashAttention),
    engine: { name: "xla-compiler", version: apiVersion },
    device: "cuda",
    profile: NOT_RUN,
    memory: NOT_RUN,
  };
}
