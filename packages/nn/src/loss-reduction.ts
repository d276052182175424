import type { Tensor } from "@mp/core";
import { formatShape, type LossReduction } from "@mp/core/graph";
import { asTensor, cast, div, equal, mul, reduceMean, reduceSum, reshape, where } from "@mp/core/ops";
import { type checks, withDefault } from "@mp/graph/internal";
import { mismatch } from "./errors.js";
import { anything, reduction } from "./option-kinds.js";

/** How a loss combines its elements, and how much each one counts. */
export interface ReductionOptions {
  /** `mean` over all elements (default) and `sum` give an f32 scalar; `none` keeps the operands' shape. */
  readonly reduction?: LossReduction;
  /**
   * Weights of the samples, float or bool, in the operands' shape or its leading dimensions; 0 for padding. The mean
   * divides by the total weight, through which no gradient flows, and is 0 if that is 0.
   */
  readonly sampleWeights?: Tensor;
}

/** Rows of `ReductionOptions`; tensors are checked with the operands. */
export const REDUCTION: {
  readonly reduction: ReturnType<typeof withDefault<"mean">>;
  readonly sampleWeights: checks.Check;
} = { reduction: withDefault("mean", reduction), sampleWeights: anything };

const reductions: Readonly<Record<LossReduction, (each: Tensor) => Tensor>> = {
  mean: (each) => reduceMean(each),
  sum: (each) => reduceSum(each),
  none: (each) => each,
};

/** Reduces the elements of a loss; `what` is the subject of messages. */
export function reduceLoss(
  what: string,
  each: Tensor,
  { reduction, sampleWeights }: { readonly [K in keyof Required<ReductionOptions>]: ReductionOptions[K] },
): Tensor {
  if (sampleWeights === undefined) return reductions[reduction ?? "mean"](each);
  asTensor(sampleWeights, `${what}: sampleWeights`);
  const { shape } = sampleWeights;
  if (shape.some((size, axis) => size !== each.shape[axis])) {
    throw mismatch(
      `${what}: sampleWeights ${formatShape(shape)} has neither the shape of the operands nor of their leading dimensions, ${formatShape(each.shape)}`,
    );
  }
  const weights = reshape(cast(sampleWeights, "f32"), [
    ...shape,
    ...each.shape.slice(shape.length).map(() => 1),
  ]);
  const weighted = mul(cast(each, "f32"), weights);
  if (reduction !== "mean") return reductions[reduction ?? "mean"](weighted);
  const elements = each.shape.slice(shape.length).reduce((product, size) => product * size, 1);
  return meanBy(reduceSum(weighted), mul(reduceSum(weights), elements));
}

/** Divides a sum by its total weight; 0 if all of it is padding. */
export function meanBy(sum: Tensor, total: Tensor): Tensor {
  return div(sum, where(equal(total, 0), 1, total));
}
