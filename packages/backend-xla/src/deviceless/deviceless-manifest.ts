import { type BackendManifest, DTYPES } from "@mp/graph";
import { exactNumerics, libraryTolerance, opSupport } from "@mp/graph/backend";
import type { Plugin } from "../pjrt/index.js";

const NOT_RUN = { unsupported: "graphs are compiled for a device that is not here, and not run" } as const;

/** Everything is computed natively on the GPUs that are compiled for; nothing of it has been probed. */
export function devicelessManifest({ apiVersion }: Plugin): BackendManifest {
  return {
    specVersion: "v1",
    engine: { name: "xla-compiler", version: apiVersion },
    device: "cuda",
    dtypes: Object.fromEntries(
      DTYPES.map((dtype) => [dtype, { storage: dtype, compute: "native" }]),
    ) as BackendManifest["dtypes"],
    ...exactNumerics,
    ops: opSupport(() => undefined),
    tolerance: libraryTolerance,
    eventLoop: "free",
    profile: NOT_RUN,
    memory: NOT_RUN,
  };
}
