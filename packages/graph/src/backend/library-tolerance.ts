import type { BackendManifest } from "../contract/manifest.js";
import { OPS, opTable } from "../graph/op-table.js";

const HALVES = { f16: 1, bf16: 1 } as const;

/**
 * Tolerances in ulps, relative to the correctly rounded result, for engines whose kernels accumulate in f32 and round
 * f16 and bf16 results once. Operators that sum in blocks and on several threads have the widest tolerances, since
 * their error grows with the number of terms.
 */
export const libraryTolerance: BackendManifest["tolerance"] = {
  default: { f32: 4, ...HALVES },
  ...Object.fromEntries(
    OPS.flatMap((op) => {
      const { ulp } = opTable[op];
      return ulp === undefined ? [] : [[op, { f32: ulp, ...HALVES }]];
    }),
  ),
};
