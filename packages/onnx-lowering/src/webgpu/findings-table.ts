/**
 * The probe's findings for the WebGPU provider of ONNX Runtime 1.30. Probing would compile shaders for half a
 * minute; a test compares the table with the probe.
 */
import { type DType, type HalfDType, type Op, PRODUCT_OPS } from "@mp/graph";
import { pairKeys, reasonsByPair } from "../lowerings/op-pairs.js";

const KNOWN_VERSION = /^1\.30\./;

const LOOP = "the WebGPU provider has no kernel of Scan: unroll the loop, as a trainer does";
const REMAINDER =
  "the WebGPU provider has no kernel of Mod, and no exact remainder of floats can be made of others";

/** The reason why each op is not computed in a dtype; undefined if it is computed. */
const missing: Readonly<Partial<Record<Op, (dtype: DType) => string | undefined>>> = {
  Scan: () => LOOP,
  Mod: (dtype) => (dtype === "f32" || dtype === "f16" ? REMAINDER : undefined),
};

/** Ops that, in half dtypes on WebGPU and CUDA, round intermediate results or let them overflow. */
export const ROUNDED_ON_THE_WAY: readonly Op[] = [
  "LayerNormalization", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd", "ReduceLogSum", "ReduceLogSumExp",
  "SoftmaxCrossEntropyLoss",
]; // biome-ignore format: one list

/** Ops that round more than once in f16, because WGSL's f16 functions are off by several ulp and lose small numbers. */
export const INEXACT: readonly Op[] = [
  "Exp", "Log", "Erf", "Tanh", "Sigmoid", "Softplus", "Sin", "Cos", "Elu", "Gelu", "Pow", "Reciprocal", "Sqrt", "Div",
  "Softmax", "Attention", ...ROUNDED_ON_THE_WAY,
]; // biome-ignore format: one list

/** Ops computed in f32 instead of f16: inexact ones, and sums and products, which would accumulate in f16. */
const WIDENED: readonly Op[] = [
  ...INEXACT,
  ...PRODUCT_OPS,
  "ReduceSum", "ReduceMean", "CumSum", "AveragePool", "NegativeLogLikelihoodLoss", "ScatterElements", "ScatterND",
]; // biome-ignore format: one list

const NON_FINITE = "convolutions leave out the padding's products with infinities and NaN";

/** Findings that do not depend on the GPU. No sum accumulates in f16 once lowered. */
interface FindingsOfVersion {
  readonly missing: ReadonlyMap<string, string>;
  readonly widened: ReadonlySet<string>;
  readonly narrowSums: readonly [];
  readonly nonFinite: string;
}

/** The findings for a version; undefined for a version that has to be probed. */
export function findingsOfVersion(
  version: string,
  native: readonly HalfDType[],
): FindingsOfVersion | undefined {
  if (!KNOWN_VERSION.test(version)) return undefined;
  return {
    missing: reasonsByPair(({ op, dtype }) => missing[op]?.(dtype)),
    widened: new Set(pairKeys(native, WIDENED)),
    narrowSums: [],
    nonFinite: NON_FINITE,
  };
}
