import { lowDType, type Precision } from "@mp/core";
import type { OpCategories } from "@mp/core/graph";
import { UsageError } from "../run-app.js";

/** Ops that policies keep in f32 for range or precision, in the half for an ablation. */
const REDUCTIONS: OpCategories = {
  ReduceSum: "low",
  ReduceMean: "low",
  Softmax: "low",
  LogSoftmax: "low",
  SoftmaxCrossEntropyLoss: "low",
  BatchNormalization: "low",
};

/**
 * Applies `--half-reductions` to a precision.
 * @throws UsageError for one whose policy has no half
 */
export function withHalfReductions(given: Precision): Precision {
  if (lowDType(given.policy) === undefined) {
    throw new UsageError(`--half-reductions changes the policy of a half, ${given.name} has none`);
  }
  return {
    ...given,
    policy: given.policy.with({ ops: REDUCTIONS }),
    name: `${given.name}+half-reductions`,
  };
}
