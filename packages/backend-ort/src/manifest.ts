import { type BackendManifest, DTYPES, type DType, type HalfDType, isHalf } from "@mp/core";
import { exactNumerics, libraryTolerance, opSupport } from "@mp/core/backend";
import type { Findings } from "./probe/findings.js";

type Asked = Pick<Findings, "nativeHalves" | "missing">;

/** Half precision is always exact: what the engine does not compute in halves is emulated, rounding included. */
function dtypeSupport(dtype: DType, { nativeHalves, missing }: Asked): BackendManifest["dtypes"][DType] {
  const reason = missing.get("Identity")?.get(dtype);
  if (reason !== undefined) return { unsupported: reason };
  if (isEmulated(dtype, nativeHalves)) return { storage: "f32", compute: "emulated" };
  return { storage: dtype, compute: "native" };
}

const isEmulated = (dtype: DType, native: Findings["nativeHalves"]): boolean =>
  isHalf(dtype) && !native.includes(dtype);

/** What this engine was found to do, as it is said to users, to core and to the conformance suite. */
export function ortManifest(
  engine: BackendManifest["engine"],
  device: "cpu" | "cuda",
  findings: Asked,
): BackendManifest {
  const { missing, nativeHalves } = findings;
  const computedIn = (dtype: DType): DType => (isEmulated(dtype, nativeHalves) ? "f32" : dtype);
  return Object.freeze({
    specVersion: "v1",
    engine,
    device,
    dtypes: Object.fromEntries(
      DTYPES.map((dtype) => [dtype, dtypeSupport(dtype, findings)]),
    ) as BackendManifest["dtypes"],
    ...exactNumerics,
    ops: opSupport((op, dtype) => missing.get(op)?.get(computedIn(dtype))),
    tolerance: libraryTolerance,
    eventLoop: "free",
    profile: true,
    memory: device === "cpu" ? true : { unsupported: "the device's arena is not read" },
  });
}

/** The halves that a manifest says are emulated. */
export function emulatedHalves(manifest: BackendManifest): readonly HalfDType[] {
  return (["f16", "bf16"] as const).filter((dtype) => {
    const support = manifest.dtypes[dtype];
    return "compute" in support && support.compute === "emulated";
  });
}
