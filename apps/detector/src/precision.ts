import { UsageError } from "@mp/cli";
import { precisionOf } from "@mp/cli/training";
import { type BackendManifest, lowDType, type OpCategories, type Precision } from "@mp/core";
import type { Options } from "./flags.js";

/** What the policies keep in f32 for its range or its digits, and an ablation does not. */
const REDUCTIONS: OpCategories = {
  ReduceSum: "low",
  ReduceMean: "low",
  Softmax: "low",
  LogSoftmax: "low",
  SoftmaxCrossEntropyLoss: "low",
  BatchNormalization: "low",
};

/** The precision of the flags, with `--half-reductions`. */
export function precisionOfRun(options: Options, manifest: BackendManifest): Precision {
  const given = precisionOf(options, manifest);
  if (!options.halfReductions) return given;
  if (lowDType(given.policy) === undefined) {
    throw new UsageError(`--half-reductions changes the policy of a half, ${given.name} has none`);
  }
  return {
    ...given,
    policy: given.policy.with({ ops: REDUCTIONS }),
    name: `${given.name}+half-reductions`,
  };
}
