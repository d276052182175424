import {
  type BackendManifest,
  DTYPES,
  type DType,
  type HalfDType,
  isHalf,
  type Op,
  type Support,
} from "@mp/core";
import { exactNumerics, opDTypes } from "@mp/core/backend";
import type { Findings } from "./probe/findings.js";

/** Units in the last place, beyond what the default allows. Sums grow with their length. */
const tolerance: BackendManifest["tolerance"] = {
  default: { f32: 4, f16: 1, bf16: 1 },
  Tanh: { f32: 8, f16: 1, bf16: 1 },
  Gelu: { f32: 8, f16: 1, bf16: 1 },
  Softmax: { f32: 16, f16: 1, bf16: 1 },
  LayerNormalization: { f32: 16, f16: 1, bf16: 1 },
  RMSNormalization: { f32: 16, f16: 1, bf16: 1 },
  BatchNormalization: { f32: 64, f16: 1, bf16: 1 },
  BatchNormalizationGradient: { f32: 64, f16: 1, bf16: 1 },
  AveragePool: { f32: 16, f16: 1, bf16: 1 },
  MatMul: { f32: 64, f16: 1, bf16: 1 },
  Gemm: { f32: 64, f16: 1, bf16: 1 },
  Conv: { f32: 64, f16: 1, bf16: 1 },
  ConvTranspose: { f32: 64, f16: 1, bf16: 1 },
  ConvWeightGradient: { f32: 64, f16: 1, bf16: 1 },
  ReduceSum: { f32: 64, f16: 1, bf16: 1 },
  ReduceMean: { f32: 64, f16: 1, bf16: 1 },
  ReduceProd: { f32: 64, f16: 1, bf16: 1 },
  ReduceL1: { f32: 64, f16: 1, bf16: 1 },
  ReduceL2: { f32: 64, f16: 1, bf16: 1 },
  ReduceSumSquare: { f32: 64, f16: 1, bf16: 1 },
  CumSum: { f32: 64, f16: 1, bf16: 1 },
};

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

function opSupport(op: Op, { missing, nativeHalves }: Asked): Support<readonly DType[]> {
  const reasons = missing.get(op);
  const dtypes = opDTypes[op].filter((dtype) => {
    const computed = isEmulated(dtype, nativeHalves) ? "f32" : dtype;
    return reasons?.has(computed) !== true && missing.get("Identity")?.has(computed) !== true;
  });
  if (dtypes.length > 0) return dtypes;
  return { unsupported: [...(reasons?.values() ?? [])][0] ?? "none of its dtypes is stored" };
}

/** What this engine was found to do, as it is said to users, to core and to the conformance suite. */
export function ortManifest(
  engine: BackendManifest["engine"],
  device: "cpu" | "cuda",
  findings: Asked,
): BackendManifest {
  const ops = (Object.keys(opDTypes) as readonly Op[]).map((op) => [op, opSupport(op, findings)]);
  return Object.freeze({
    specVersion: "v1",
    engine,
    device,
    dtypes: Object.fromEntries(
      DTYPES.map((dtype) => [dtype, dtypeSupport(dtype, findings)]),
    ) as BackendManifest["dtypes"],
    ...exactNumerics,
    ops: Object.fromEntries(ops) as BackendManifest["ops"],
    tolerance,
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
