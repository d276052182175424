import type { BackendManifest, DType, Op, Ulp } from "@mp/core";
import { isComputeFloat } from "@mp/core";
import { ceilingOf } from "../tolerance/ceiling-table.js";

/** How far a result may be from the oracle's. */
export interface Allowance {
  /** Units in the last place of the result's dtype. */
  readonly ulp: Ulp;
  /** An ulp is never smaller than that of this magnitude; 0 where results are relative throughout. */
  readonly floor: number;
  /** +0 and -0 differ. */
  readonly signedZero: boolean;
  /** A subnormal may be zero. */
  readonly flushes: boolean;
}

export const EXACT: Allowance = { ulp: 0, floor: 0, signedZero: true, flushes: false };

/** What the manifest declares for an op's result, within the ceiling. Integers and bools are exact. */
export function allowanceOf(manifest: BackendManifest, op: Op, dtype: DType): Allowance {
  const { floor, signedZero } = ceilingOf(op);
  if (!isComputeFloat(dtype)) return { ...EXACT, signedZero };
  const declared = (manifest.tolerance[op] ?? manifest.tolerance.default)[dtype];
  return {
    ulp: Math.min(declared, ceilingOf(op)[dtype]),
    floor,
    signedZero,
    flushes: manifest.subnormals[dtype] === "flush",
  };
}
