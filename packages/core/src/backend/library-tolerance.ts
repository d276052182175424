import type { BackendManifest } from "../contract/manifest.js";

const HALVES = { f16: 1, bf16: 1 } as const;
/** Sums in blocks and on several threads; their error grows with the number of terms. */
const SUMMED = { f32: 64, ...HALVES };
const NORMALIZED = { f32: 16, ...HALVES };

/**
 * Tolerance in ulps beyond the default, relative to the correctly rounded result: for manifests of engines whose
 * kernels accumulate in f32 and round halves once.
 */
export const libraryTolerance: BackendManifest["tolerance"] = {
  default: { f32: 4, ...HALVES },
  Tanh: { f32: 8, ...HALVES },
  Gelu: { f32: 8, ...HALVES },
  Softmax: NORMALIZED,
  LayerNormalization: NORMALIZED,
  RMSNormalization: NORMALIZED,
  AveragePool: NORMALIZED,
  BatchNormalization: SUMMED,
  BatchNormalizationGradient: SUMMED,
  MatMul: SUMMED,
  Gemm: SUMMED,
  Einsum: SUMMED,
  Attention: SUMMED,
  Conv: SUMMED,
  ConvTranspose: SUMMED,
  ConvWeightGradient: SUMMED,
  ReduceSum: SUMMED,
  ReduceMean: SUMMED,
  ReduceProd: SUMMED,
  ReduceL1: SUMMED,
  ReduceL2: SUMMED,
  ReduceSumSquare: SUMMED,
  CumSum: SUMMED,
};
