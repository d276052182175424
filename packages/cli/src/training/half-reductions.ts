import { lowDType, type Precision } from "@mp/core";
import type { OpCategories } from "@mp/core/graph";
import { UsageError } from "../run-app.js";

/** Moves to the half dtype the operators that policies otherwise keep in f32 for range or precision. */
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
 * @throws UsageError for a precision whose policy has no half dtype
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
