import { type LossReduction, MpError, reduceMean, reduceSum, shown, type Tensor } from "@mp/core";

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
