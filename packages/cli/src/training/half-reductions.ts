import { lowDType, type OpCategories, type Precision } from "@mp/core";
import { UsageError } from "../run-app.js";

/** What the policies keep in f32 for its range or its digits, and an ablation does not. */
const REDUCTIONS: OpCategories = {
  ReduceSum: "low",
  ReduceMean: "low",
  Softmax: "low",
  LogSoftmax: "low",
  SoftmaxCrossEntropyLoss: "low",
  BatchNormalization: "low",
};

/**
 * What `--half-reductions` makes of a precision.
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
