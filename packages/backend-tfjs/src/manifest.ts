import { type BackendManifest, DTYPES, type DType, type Op, type Support } from "@mp/core";
import { exactNumerics, opDTypes } from "@mp/core/backend";
import type { Findings } from "./probe/findings.js";
import { keyOf } from "./probe/pair.js";

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
  const opSupport = (op: Op): Support<readonly DType[]> => {
    const dtypes = opDTypes[op].filter(
      (dtype) => reasonOf(op, dtype) === undefined && reasonOf("Identity", dtype) === undefined,
    );
    if (dtypes.length > 0) return dtypes;
    const reasons = opDTypes[op].flatMap((dtype) => reasonOf(op, dtype) ?? []);
    return { unsupported: reasons[0] ?? "none of its dtypes is stored" };
  };
  const ops = (Object.keys(opDTypes) as readonly Op[]).map((op) => [op, opSupport(op)]);
  return Object.freeze({
    specVersion: "v1",
    engine,
    device,
    dtypes: Object.fromEntries(
      DTYPES.map((dtype) => [dtype, dtypeSupport(dtype)]),
    ) as BackendManifest["dtypes"],
    ...exactNumerics,
    subnormals: findings.subnormals,
    ops: Object.fromEntries(ops) as BackendManifest["ops"],
    tolerance,
    adopt: true,
    eventLoop: "blocked-during-step",
    profile: { unsupported: "tfjs-node does not give TensorFlow's profiler to JavaScript" },
    memory: { unsupported: "tfjs-node does not give TensorFlow's allocator statistics to JavaScript" },
  });
}
