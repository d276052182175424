import type { HalfDType } from "../dtype.js";
import type { AddingOp } from "../graph/families.js";
import { refusalOf } from "./engine-refusal.js";
import type { ProbeGraph, ProbeResults } from "./probe-pairs.js";
import { sumProbe } from "./sum-probe.js";

/**
 * Finds the operators that do not accumulate a half dtype in f32 and round once. Probes all operators together, or one
 * by one if the engine fails. An operator that cannot be probed is included, since it is not known to be right.
 */
export async function narrowSums(
  half: HalfDType,
  ops: readonly AddingOp[],
  run: (probe: ProbeGraph) => Promise<ProbeResults>,
): Promise<readonly AddingOp[]> {
  let narrow: readonly AddingOp[] = [];
  const refusal = await refusalOf(async () => {
    const probe = sumProbe(half, ops);
    narrow = probe.narrow(await run(probe));
  });
  if (refusal === undefined) return narrow;
  if (ops.length <= 1) return ops;
  const found: AddingOp[] = [];
  for (const op of ops) found.push(...(await narrowSums(half, [op], run)));
  return found;
}
