import type { CommonOptions } from "@mp/cli";
import { UsageError } from "@mp/cli";
import { precisionOf } from "@mp/cli/training";
import {
  type BackendManifest,
  type HalfDType,
  lowDType,
  manual,
  type OpCategories,
  type Precision,
} from "@mp/core";

/** What the policies keep in f32 for its range or its digits, and an ablation does not. */
const REDUCTIONS: OpCategories = {
  ReduceSum: "low",
  ReduceMean: "low",
  Softmax: "low",
  LogSoftmax: "low",
  SoftmaxCrossEntropyLoss: "low",
  BatchNormalization: "low",
};

/** The precision of the flags, with `--half-reductions`; and the half that `--manual` casts to by hand. */
export function precisionsOf(
  options: CommonOptions & { readonly manual: boolean; readonly halfReductions: boolean },
  manifest: BackendManifest,
): { readonly precision: Precision; readonly castTo: HalfDType | undefined } {
  const given = precisionOf(options, manifest);
  const half = lowDType(given.policy);
  if (options.halfReductions && (half === undefined || options.manual)) {
    throw new UsageError(
      `--half-reductions changes the policy of a half, ${given.name} ${options.manual ? "is cast by hand" : "has none"}`,
    );
  }
  if (options.halfReductions) {
    const policy = given.policy.with({ ops: REDUCTIONS });
    return { precision: { ...given, policy, name: `${given.name}+half-reductions` }, castTo: undefined };
  }
  if (!options.manual) return { precision: given, castTo: undefined };
  if (half === undefined) {
    throw new UsageError(`--manual casts to a half, ${given.name} has none; add --precision mixed_float16`);
  }
  const byHand = manual(given.lossScaler);
  return { precision: { ...given, policy: byHand.policy, name: `manual(${half})` }, castTo: half };
}
