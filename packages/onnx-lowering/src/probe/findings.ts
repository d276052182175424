import type { HalfDType } from "@mp/graph";
import { deviceRules, type RefusedDTypes } from "../device-rules.js";
import { emulatedHalves } from "../dtype.js";
import { reasonsByPair } from "../lowerings/op-pairs.js";
import type { Target } from "../lowerings/target.js";
import type { ProbedEngine } from "./engine.js";
import type { Missing } from "./probe-kernels.js";
import type { HalfSum } from "./probe-sums.js";

/** Results of probing an engine. */
export interface Findings extends Required<Target> {
  readonly missing: Missing;
  /** Sums that accumulate in a native half dtype, even when lowered. */
  readonly narrowSums: readonly HalfSum[];
  /** How convolutions of infinities and NaN deviate from IEEE 754; undefined if they do not. */
  readonly nonFinite: string | undefined;
}

/** Selects the findings that lowering needs. */
export const targetOf = (findings: Findings): Target => ({
  device: findings.device,
  emulated: findings.emulated,
  widened: findings.widened,
  blockSize: findings.blockSize,
  castsThroughDoubles: findings.castsThroughDoubles,
  differences: findings.differences,
});

/**
 * The listed findings for an engine version, on a device that computes in the `native` half dtypes; undefined
 * if the version has to be probed.
 */
export function knownFindings(
  { device, version }: Pick<ProbedEngine, "device" | "version">,
  native: readonly HalfDType[],
): Findings | undefined {
  const rules = deviceRules[device];
  const known = rules.known(version, native);
  if (known === undefined) return undefined;
  const refused = rules.refused(native);
  return {
    ...known,
    device,
    emulated: emulatedHalves(native).filter((half) => refused[half] === undefined),
    missing: new Map([...refusedPairs(refused), ...known.missing]),
    blockSize: undefined,
    castsThroughDoubles: false,
    differences: undefined,
  };
}

/** Reasons to refuse every op in the dtypes that the device does not use, by `pairKey`. */
export const refusedPairs = (refused: RefusedDTypes): Missing => reasonsByPair(({ dtype }) => refused[dtype]);
