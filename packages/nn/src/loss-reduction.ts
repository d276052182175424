import type { Tensor } from "@mp/core";
import { formatShape, type LossReduction } from "@mp/core/graph";
import {
  asTensor,
  cast,
  div,
  equal,
  literal,
  mul,
  reduceMean,
  reduceSum,
  reshape,
  where,
} from "@mp/core/ops";
import { type checks, withDefault } from "@mp/graph/internal";
import { mismatch } from "./errors.js";
import { weighedMean } from "./loss-weight.js";
import { anything, reduction } from "./option-kinds.js";

/** Options for the way a loss combines its elements, and for how much each counts. */
export interface ReductionOptions {
  /** `mean` over all elements (default) and `sum` give an f32 scalar; `none` keeps the operands' shape. */
  readonly reduction?: LossReduction;
  /**
   * Weights of the samples, float or bool, in the operands' shape or its leading dimensions; 0 for padding.
   * The mean divides by the total weight, and is 0 if the total is 0.
   */
  readonly sampleWeights?: Tensor;
}

/** Checks of `ReductionOptions`; tensors are checked later, with the operands. */
export const REDUCTION: {
  readonly reduction: ReturnType<typeof withDefault<"mean">>;
  readonly sampleWeights: checks.Check;
} = { reduction: withDefault("mean", reduction), sampleWeights: anything };

const reductions: Readonly<Record<LossReduction, (each: Tensor) => Tensor>> = {
  mean: (each) => reduceMean(each),
  sum: (each) => reduceSum(each),
  none: (each) => each,
};

/** Reduces the elements of a loss; `what` names the loss in messages. */
export function reduceLoss(
  what: string,
  each: Tensor,
  { reduction, sampleWeights }: { readonly [K in keyof Required<ReductionOptions>]: ReductionOptions[K] },
): Tensor {
  const elementsFrom = (axis: number): number =>
    each.shape.slice(axis).reduce((product, size) => product * size, 1);
  if (sampleWeights === undefined) {
    const reduced = () => reductions[reduction ?? "mean"](each);
    if (reduction !== "mean") return reduced();
    return weighedMean({ isUneven: false, weight: () => literal(elementsFrom(0)) }, reduced);
  }
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
  const weight = (): Tensor => mul(reduceSum(weights), elementsFrom(shape.length));
  return weighedMean({ isUneven: true, weight }, () => meanBy(reduceSum(weighted), weight()));
}

/** Divides a sum by its total weight; 0 if the total is 0, that is, if all samples are padding. */
export function meanBy(sum: Tensor, total: Tensor): Tensor {
  return div(sum, where(equal(total, 0), 1, total));
}
