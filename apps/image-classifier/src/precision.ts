import type { CommonOptions } from "@mp/cli";
import { UsageError } from "@mp/cli";
import { precisionOf, withHalfReductions } from "@mp/cli/training";
import { type BackendManifest, type HalfDType, lowDType, manual, type Precision } from "@mp/core";

/** The precision of the flags, with `--half-reductions`; and the half that `--manual` casts to by hand. */
export function precisionsOf(
  options: CommonOptions & { readonly manual: boolean; readonly halfReductions: boolean },
  manifest: BackendManifest,
): { readonly precision: Precision; readonly castTo: HalfDType | undefined } {
  const given = precisionOf(options, manifest);
  if (options.halfReductions && options.manual) {
    throw new UsageError(`--half-reductions changes the policy of a half, ${given.name} is cast by hand`);
  }
  if (options.halfReductions) return { precision: withHalfReductions(given), castTo: undefined };
  if (!options.manual) return { precision: given, castTo: undefined };
  const half = lowDType(given.policy);
  if (half === undefined) {
    throw new UsageError(`--manual casts to a half, ${given.name} has none; add --precision mixed_float16`);
  }
  const byHand = manual(given.lossScaler);
  return { precision: { ...given, policy: byHand.policy, name: `manual(${half})` }, castTo: half };
}
