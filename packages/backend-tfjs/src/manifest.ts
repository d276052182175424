import { type BackendManifest, DTYPES, type DType, type Op } from "@mp/core";
import { exactNumerics, libraryTolerance, opSupport } from "@mp/core/backend";
import type { Findings } from "./probe/findings.js";
import { keyOf } from "./probe/pair.js";

/** What this engine was found to do, as it is said to users, to core and to the conformance suite. */
export function tfjsManifest(
  engine: BackendManifest["engine"],
  device: "cpu" | "cuda",
  findings: Findings,
): BackendManifest {
  const { missing, widened } = findings;
  const reasonOf = (op: Op, dtype: DType): string | undefined => missing.get(keyOf({ op, dtype }));
  const dtypeSupport = (dtype: DType): BackendManifest["dtypes"][DType] => {
    const reason = reasonOf("Identity", dtype);
    if (reason !== undefined) return { unsupported: reason };
    // A half whose matrix products are made in f32 gains memory and no time.
    return { storage: dtype, compute: widened.has(keyOf({ op: "MatMul", dtype })) ? "emulated" : "native" };
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
    ops: opSupport(reasonOf),
    tolerance: libraryTolerance,
    adopt: true,
    eventLoop: "blocked-during-step",
    profile: { unsupported: "tfjs-node does not give TensorFlow's profiler to JavaScript" },
    memory: { unsupported: "tfjs-node does not give TensorFlow's allocator statistics to JavaScript" },
  });
}
