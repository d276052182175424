/** Sums that accumulate in the half dtype although the manifest says f32, and results that no such sums can give. */

import { ADDING_OPS, type AddingOp, type HalfDType, type HostTensor, isHalf } from "@mp/graph";
import type { KernelTable } from "@mp/graph/backend";
import type { Accumulation } from "@mp/graph/internal";
import { halfSumsBackend } from "../../../graph/test/half-sums.js";
import { hostData, toNumbers } from "../../src/host-data.js";
import { halfGemm, halfMatMul } from "./half-products.js";
import { changing, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

const HALVES = ["f16", "bf16"] as const;

const inF32: Accumulation = { default: { f32: "f32", f16: "f32", bf16: "f32" } };
/** Declares that the given operators accumulate f16 and bf16 in the same dtype. */
export const inHalves = (ops: readonly AddingOp[]): Accumulation => ({
  ...inF32,
  ops: Object.fromEntries(ops.map((op) => [op, { f16: "f16", bf16: "bf16" }])),
});

/**
 * Behaviors of the group `summation` that must fail in both half dtypes; any other behavior of the operator may fail.
 */
const wrongSums = (
  op: AddingOp,
  behaviours: readonly string[],
): Pick<WrongBackend, "axes" | "among" | "named" | "consequences" | "message"> => ({
  axes: ["summation"],
  among: new RegExp(`/${op}-`),
  named: HALVES.flatMap((half) => behaviours.map((behaviour) => `summation/${op}-${half}/${behaviour}`)),
  consequences: [new RegExp(`^summation/${op}-(f16|bf16)/`)],
  message: new RegExp(`\\b${op} in (f16|bf16)\\b`),
});

/** Changes a result of a half dtype. */
const inHalf =
  (change: (sum: number, half: HalfDType) => number) =>
  (result: HostTensor): HostTensor => {
    const { dtype, shape } = result;
    if (!isHalf(dtype)) return result;
    return hostData(
      dtype,
      toNumbers(result).map((x) => change(x, dtype)),
      shape,
    );
  };

const BESIDE = "small-terms-beside-a-large-one";
const terms = (...forms: readonly string[]): readonly string[] => forms.map((form) => `5000-terms-${form}`);

/** The forms in which each operator's sums of 5000 terms are tested. */
const forms: Readonly<Partial<Record<AddingOp, readonly string[]>>> = {
  MatMul: terms(
    "of-rows-and-columns",
    "batched",
    "by-one-matrix-for-all",
    "left-transposed",
    "right-transposed",
    "both-transposed",
    "batched-and-transposed",
    "of-vectors",
    "of-a-matrix-by-a-vector",
  ),
  Gemm: terms("of-rows-and-columns", "left-transposed", "right-transposed", "both-transposed"),
  Einsum: terms("of-rows-and-columns", "batched", "of-several-operands", "of-one-operand"),
  Conv: terms("over-channels", "over-taps", "over-both-in-groups"),
  ConvTranspose: terms("over-channels"),
  ConvWeightGradient: terms("along-a-line"),
  ReduceSum: terms("of-rows", "of-columns", "of-all-axes", "of-outer-axes"),
  Softmax: terms("of-rows", "of-columns"),
  LayerNormalization: terms("of-rows"),
};

/** Operators for which the oracle adds several terms before it stores the sum, so that f16 reaches 2500. */
const MULTIPLYING = ["MatMul", "Gemm", "Conv", "ConvTranspose", "ConvWeightGradient"] as const;

/** One operator accumulates in the half dtype, but the manifest declares f32. */
const hidden = (op: AddingOp): WrongBackend => ({
  fault: `${op} accumulates in the half, and the manifest says f32`,
  factory: async () => halfSumsBackend(inHalves([op]), { accumulate: inF32 }),
  ...wrongSums(op, [BESIDE, ...(MULTIPLYING.some((one) => one === op) ? [] : (forms[op] ?? []))]),
});

/** The operator adds f16 and bf16 numbers one by one, and stalls when adding 0.5 no longer changes the sum. */
const stalling = (op: AddingOp): WrongBackend => ({
  fault: `sums of halves stall in ${op}, and the manifest says f32`,
  factory: () =>
    oracleWithKernels(
      changing(
        [op],
        inHalf((sum, half) => Math.min(sum, half === "f16" ? 1024 : 128)),
      ),
    ),
  ...wrongSums(op, forms[op] ?? []),
});

/** The operator accumulates in the half dtype for one form of its operands. */
const hiddenForm = (
  fault: string,
  op: AddingOp,
  kernels: KernelTable<HostTensor>,
  behaviours: readonly string[],
): WrongBackend => ({
  fault: `${fault}, and the manifest says f32`,
  factory: () => oracleWithKernels(kernels),
  ...wrongSums(op, [BESIDE, ...behaviours]),
});

const stacked = (a: HostTensor, b: HostTensor): boolean => a.shape.length > 2 || b.shape.length > 2;

/** The manifest declares sums in the half dtype, but no such sums can give the results. */
const beyond = (fault: string, change: (sum: number) => number): WrongBackend => ({
  fault: `declared sums in the half are ${fault}`,
  factory: () =>
    oracleWithKernels(changing(["ReduceSum"], inHalf(change)), { accumulate: inHalves(["ReduceSum"]) }),
  ...wrongSums("ReduceSum", [BESIDE, ...(forms.ReduceSum ?? [])]),
});

export const accumulationFaults: readonly WrongBackend[] = [
  ...ADDING_OPS.map(hidden),
  ...MULTIPLYING.map(stalling),
  hiddenForm(
    "products of stacks of matrices accumulate in the half",
    "MatMul",
    { MatMul: halfMatMul(stacked) },
    terms("batched", "by-one-matrix-for-all"),
  ),
  hiddenForm(
    "Gemm accumulates in the half where its right matrix is transposed",
    "Gemm",
    { Gemm: halfGemm(({ transB }) => transB) },
    terms("right-transposed"),
  ),
  hiddenForm(
    "Gemm accumulates in the half where its left matrix is transposed",
    "Gemm",
    { Gemm: halfGemm(({ transA }) => transA) },
    terms("left-transposed"),
  ),
  beyond("NaN", () => Number.NaN),
  beyond("of the other sign", (sum) => -sum - 5000),
  beyond("16 times too large", (sum) => 16 * sum + 5000),
];
