import {
  ADDING_OPS,
  type BackendManifest,
  type ComputeDType,
  type DType,
  floatFormats,
  isComputeFloat,
  isHalf,
  type Op,
} from "@mp/graph";
import { accumulatorOf, type Ulp } from "@mp/graph/internal";
import { ceilingOf } from "../tolerance/ceiling-table.js";

/** Largest allowed difference between a result and the oracle's. */
export interface Allowance {
  /** Units in the last place of the result's dtype. */
  readonly ulp: Ulp;
  /** Magnitude below which the ulp no longer shrinks. 0 if tolerances are relative throughout. */
  readonly floor: number;
  /** Whether +0 and -0 differ. */
  readonly signedZero: boolean;
  /** Whether a subnormal result may be zero. */
  readonly flushes: boolean;
}

export const EXACT: Allowance = { ulp: 0, floor: 0, signedZero: true, flushes: false };

/** Whether the manifest declares that the op accumulates in the half dtype. */
function addsUpNarrowly(manifest: BackendManifest, op: Op, dtype: DType): boolean {
  return (
    isHalf(dtype) &&
    (ADDING_OPS as readonly Op[]).includes(op) &&
    accumulatorOf(manifest, op, dtype) !== "f32"
  );
}

/**
 * The tolerance that the manifest declares for an op's result, at most the ceiling. Integers and bools are exact. For a
 * sum that is declared to accumulate in a half dtype, the tolerance is the ceiling for f32, in ulps of that half dtype.
 */
export function manifestAllowance(manifest: BackendManifest, op: Op, dtype: DType): Allowance {
  const { signedZero } = ceilingOf(op);
  if (!isComputeFloat(dtype)) return { ...EXACT, signedZero };
  const narrow = addsUpNarrowly(manifest, op, dtype);
  return {
    ulp: narrow ? ceilingOf(op).f32 : manifestUlp(manifest, op, dtype),
    floor: narrow ? ceilingOf(op).floor : toleranceFloor(manifest, op, dtype),
    signedZero,
    flushes: manifest.subnormals[dtype] === "flush",
  };
}

function manifestUlp(manifest: BackendManifest, op: Op, dtype: ComputeDType): Ulp {
  const declared = (manifest.tolerance[op] ?? manifest.tolerance.default)[dtype];
  return Math.min(declared, ceilingOf(op)[dtype]);
}

/**
 * The `floor` of the tolerance. It is lower for f16 and bf16, because engines compute them in f32 and round once, so a
 * small result may be off only by the f32 tolerance. One ulp of the half dtype at the f32 floor would allow 0 for every
 * small sigmoid.
 */
function toleranceFloor(manifest: BackendManifest, op: Op, dtype: ComputeDType): number {
  const { floor } = ceilingOf(op);
  const finer = 2 ** (floatFormats[dtype].fractionBits - floatFormats.f32.fractionBits);
  return dtype === "f32" ? floor : floor * manifestUlp(manifest, op, "f32") * finer;
}
