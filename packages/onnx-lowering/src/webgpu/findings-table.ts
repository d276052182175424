/**
 * The probe's findings for the WebGPU provider in ONNX Runtime 1.30: asking takes half a minute of compiling shaders on
 * a processor. A test holds the table to the probe.
 */
import { type DType, type HalfDType, type Op, opDTypes, PRODUCT_OPS } from "@mp/graph";
import { pairKey } from "@mp/graph/backend";

const KNOWN_VERSION = /^1\.30\./;

const LOOP = "the WebGPU provider has no kernel of Scan: unroll the loop, as a trainer does";
const REMAINDER =
  "the WebGPU provider has no kernel of Mod, and no exact remainder of floats can be made of others";

/** Why an op is not computed in a dtype. */
const missing: Readonly<Partial<Record<Op, (dtype: DType) => string | undefined>>> = {
  Scan: () => LOOP,
  Mod: (dtype) => (dtype === "f32" || dtype === "f16" ? REMAINDER : undefined),
};

/** Ops that round halves on the way, or overflow: on CUDA too. */
export const ROUNDED_ON_THE_WAY: readonly Op[] = [
  "LayerNormalization", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd", "ReduceLogSum", "ReduceLogSumExp",
  "SoftmaxCrossEntropyLoss",
]; // biome-ignore format: one list

/** Ops that round more than once in f16: WGSL's functions of f16 are off by several units, and lose small numbers. */
export const INEXACT: readonly Op[] = [
  "Exp", "Log", "Erf", "Tanh", "Sigmoid", "Softplus", "Sin", "Cos", "Elu", "Gelu", "Pow", "Reciprocal", "Sqrt", "Div",
  "Softmax", "Attention", ...ROUNDED_ON_THE_WAY,
]; // biome-ignore format: one list

/** Ops of f16 that are computed in f32: those, and sums and products, which accumulate in f16. */
const WIDENED: readonly Op[] = [
  ...INEXACT,
  ...PRODUCT_OPS,
  "ReduceSum", "ReduceMean", "CumSum", "AveragePool", "NegativeLogLikelihoodLoss", "ScatterElements", "ScatterND",
]; // biome-ignore format: one list

const NON_FINITE = "convolutions leave out the padding's products with infinities and NaN";

/** Findings that do not depend on the adapter; of sums in f16, none is left. */
interface FindingsOfVersion {
  readonly missing: ReadonlyMap<string, string>;
  readonly widened: ReadonlySet<string>;
  readonly narrowSums: readonly [];
  readonly nonFinite: string;
}

/** Undefined for another version, which is probed. */
export function findingsOfVersion(
  version: string,
  native: readonly HalfDType[],
): FindingsOfVersion | undefined {
  if (!KNOWN_VERSION.test(version)) return undefined;
  const all = Object.entries(opDTypes) as readonly (readonly [Op, readonly DType[]])[];
  return {
    missing: new Map(
      all.flatMap(([op, dtypes]) =>
        dtypes.flatMap((dtype) => {
          const reason = missing[op]?.(dtype);
          return reason === undefined ? [] : [[pairKey({ op, dtype }), reason] as const];
        }),
      ),
    ),
    widened: new Set(native.flatMap((dtype) => WIDENED.map((op) => pairKey({ op, dtype })))),
    narrowSums: [],
    nonFinite: NON_FINITE,
  };
}
