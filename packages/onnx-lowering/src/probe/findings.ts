import { type HalfDType, type Op, opDTypes } from "@mp/graph";
import { pairKey } from "@mp/graph/backend";
import { deviceRules, type RefusedDTypes } from "../device-rules.js";
import { emulatedHalves } from "../dtype.js";
import type { Target } from "../lowerings/target.js";
import type { ProbedEngine } from "./engine.js";
import type { Missing } from "./probe-kernels.js";
import type { HalfSum } from "./probe-sums.js";

/** Findings of the probe on an engine. */
export interface Findings {
  readonly device: Target["device"];
  /** Halves that are carried in f32 and rounded. */
  readonly emulated: Target["emulated"];
  readonly missing: Missing;
  /** The ops in native halves that are computed in f32 and rounded, by `pairKey`. */
  readonly widened: Target["widened"];
  /** Sums that accumulate in a native half, even in their lowered form. */
  readonly narrowSums: readonly HalfSum[];
  /** Channels that its blocked convolutions keep together; undefined where it has none. */
  readonly blockSize: number | undefined;
  readonly castsThroughDoubles: boolean;
  readonly differences: Target["differences"];
  /** How its convolutions of infinities and NaN differ from IEEE 754; undefined where they do not. */
  readonly nonFinite: string | undefined;
}

/** The engine that was probed, as lowering has to know it. */
export const targetOf = (findings: Findings): Target => ({
  device: findings.device,
  emulated: findings.emulated,
  widened: findings.widened,
  blockSize: findings.blockSize,
  castsThroughDoubles: findings.castsThroughDoubles,
  differences: findings.differences,
});

/**
 * The probe's findings for that version on the device, for an engine that computes in these halves; undefined where it
 * has to be probed.
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

/** Every op in a dtype that is not used at all on the device. */
export const refusedPairs = (refused: RefusedDTypes): Missing =>
  new Map(
    Object.entries(opDTypes).flatMap(([op, dtypes]) =>
      dtypes.flatMap((dtype) => {
        const reason = refused[dtype];
        return reason === undefined ? [] : [[pairKey({ op: op as Op, dtype }), reason] as const];
      }),
    ),
  );
