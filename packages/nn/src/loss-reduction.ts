import { MpError, type Tensor } from "@mp/core";
import type { LossReduction } from "@mp/core/graph";
import { shown } from "@mp/core/internal";
import { reduceMean, reduceSum } from "@mp/core/ops";

const reductions: Readonly<Record<LossReduction, (each: Tensor) => Tensor>> = {
  mean: (each) => reduceMean(each),
  sum: (each) => reduceSum(each),
  none: (each) => each,
};

/** @throws MP_INVALID_ARGUMENT for an unknown reduction */
export function expectReduction(loss: string, reduction: unknown): asserts reduction is LossReduction {
  if (typeof reduction === "string" && Object.hasOwn(reductions, reduction)) return;
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `${loss}: reduction is mean, sum or none, got ${shown(reduction)}`,
  );
}

/** @throws as `expectReduction` */
export function reduced(loss: string, reduction: LossReduction, each: Tensor): Tensor {
  expectReduction(loss, reduction);
  return reductions[reduction](each);
}
