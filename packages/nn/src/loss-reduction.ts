import type { Tensor } from "@mp/core";
import type { LossReduction } from "@mp/core/graph";
import { reduceMean, reduceSum } from "@mp/core/ops";

const reductions: Readonly<Record<LossReduction, (each: Tensor) => Tensor>> = {
  mean: (each) => reduceMean(each),
  sum: (each) => reduceSum(each),
  none: (each) => each,
};

/** The loss of its elements. */
export function reduced(reduction: LossReduction, each: Tensor): Tensor {
  return reductions[reduction](each);
}
