import { type BackendManifest, DTYPES, type DType, type Op } from "@mp/graph";
import { exactNumerics, libraryTolerance, opSupport, pairKey } from "@mp/graph/backend";
import type { Findings } from "./probe/findings.js";

/** Makes the manifest, which users, core and the conformance suite read, from the probe's findings. */
export function tfjsManifest(
  engine: BackendManifest["engine"],
  device: "cpu" | "cuda",
  findings: Findings,
): BackendManifest {
  const { missing, widened, nonFinite } = findings;
  const missingReason = (op: Op, dtype: DType): string | undefined => missing.get(pairKey({ op, dtype }));
  const dtypeSupport = (dtype: DType): BackendManifest["dtypes"][DType] => {
    const reason = missingReason("Identity", dtype);
    if (reason !== undefined) return { unsupported: reason };
    // A half dtype whose matrix products are computed in f32 saves memory but no time.
    return {
      storage: dtype,
      compute: widened.has(pairKey({ op: "MatMul", dtype })) ? "emulated" : "native",
    };
  };
  return Object.freeze({
    specVersion: "v1",
    engine,
    device,
    dtypes: Object.fromEntries(
      DTYPES.map((dtype) => [dtype, dtypeSupport(dtype)]),
    ) as BackendManifest["dtypes"],
    ...exactNumerics,
    subnormals: findings.subnormals,
    ops: opSupport(missingReason),
    // TensorFlow's polynomial for erf was found to be six ulp off near ±3.7.
    tolerance: { ...libraryTolerance, Erf: { f32: 8, f16: 1, bf16: 1 } },
    nonFiniteConvolution: nonFinite === undefined ? true : { unsupported: nonFinite },
    adopt: true,
    eventLoop: "blocked-during-step",
    profile: { unsupported: "tfjs-node does not give TensorFlow's profiler to JavaScript" },
    nextState: "as-computed",
    memory: { unsupported: "tfjs-node does not give TensorFlow's allocator statistics to JavaScript" },
  });
}
