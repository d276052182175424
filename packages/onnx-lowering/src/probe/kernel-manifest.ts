import { type AddingOp, type BackendManifest, DTYPES, type DType, type HalfDType, isHalf } from "@mp/graph";
import { exactNumerics, opSupport, pairKey } from "@mp/graph/backend";
import { rulesFor } from "../device-rules.js";
import { storageOf } from "../storage.js";
import type { Findings } from "./findings.js";

type Asked = Pick<Findings, "device" | "emulated" | "missing" | "widened" | "narrowSums" | "nonFinite"> &
  Partial<Pick<Findings, "differences">>;

/** The manifest's entry for a dtype. A half dtype that the engine lacks is emulated with every rounding. */
function dtypeSupport(dtype: DType, findings: Asked): BackendManifest["dtypes"][DType] {
  const reason = findings.missing.get(pairKey({ op: "Identity", dtype }));
  if (reason !== undefined) return { unsupported: reason };
  if (isCarriedInF32(dtype, findings.emulated)) return { storage: "f32", compute: "emulated" };
  const { dtype: storage } = storageOf(findings).storedType({ dtype, shape: [] });
  if (storage !== dtype) return { storage, compute: "emulated" };
  // A half dtype whose matrix products are computed in f32 saves memory but no time.
  const isFast = !findings.widened.has(pairKey({ op: "MatMul", dtype }));
  return { storage: dtype, compute: isFast ? "native" : "emulated" };
}

/** The dtypes in which sums accumulate: f32, except for the sums that the probe found to be narrow. */
function accumulation({ narrowSums }: Asked): BackendManifest["accumulate"] {
  if (narrowSums.length === 0) return exactNumerics.accumulate;
  const ops: Partial<Record<AddingOp, Partial<Record<HalfDType, HalfDType>>>> = {};
  for (const { op, dtype } of narrowSums) ops[op] = { ...ops[op], [dtype]: dtype };
  return { ...exactNumerics.accumulate, ops };
}

const isCarriedInF32 = (dtype: DType, emulated: Findings["emulated"]): boolean =>
  isHalf(dtype) && emulated.includes(dtype);

/** The part of a manifest that describes the engine's kernels. */
type KernelManifest = Omit<
  BackendManifest,
  "specVersion" | "engine" | "device" | "eventLoop" | "profile" | "memory"
>;

/** Derives the part of a manifest that describes kernels from the probe's findings. */
export function kernelManifest(findings: Asked): KernelManifest {
  const { missing, emulated, nonFinite } = findings;
  const { tolerance, subnormals, determinism } = rulesFor(findings);
  const computeDType = (dtype: DType): DType => (isCarriedInF32(dtype, emulated) ? "f32" : dtype);
  return {
    dtypes: Object.fromEntries(
      DTYPES.map((dtype) => [dtype, dtypeSupport(dtype, findings)]),
    ) as BackendManifest["dtypes"],
    ...exactNumerics,
    accumulate: accumulation(findings),
    ops: opSupport((op, dtype) => missing.get(pairKey({ op, dtype: computeDType(dtype) }))),
    tolerance,
    subnormals,
    determinism,
    nonFiniteConvolution: nonFinite === undefined ? true : { unsupported: nonFinite },
  };
}
