import type { OpOf, ReduceOp } from "../../graph/families.js";
import { reduceShape } from "../../graph/infer/reduce.js";
import { elementCount } from "../../shape.js";
import { div, equal, mul, sub, where } from "../../trace/ops/binary.js";
import { scatterElements } from "../../trace/ops/indexing.js";
import { expand } from "../../trace/ops/movement.js";
import { cumSum, reduceProd, reduceSum } from "../../trace/ops/reduce.js";
import { cast, exp, isInf, neg, sign } from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import {
  type GradientRule,
  type GradientSite,
  type GradientTable,
  toShape,
  wide,
  zeroGradient,
} from "./rule.js";

type Site = Pick<GradientSite<ReduceOp>, "attributes" | "gradient" | "input" | "output" | "inputType">;

/** Reshapes a reduced value so that it broadcasts against the operand; a scalar stays as it is. */
function keepAxes({ attributes, inputType }: Site, reduced: Tensor): Tensor {
  if (reduced.shape.length === 0) return reduced;
  return toShape(reduced, reduceShape(inputType(0).shape, attributes.axes, true));
}

/** Makes a rule from `make`, called with x, y and the gradient g of y; y and g keep the reduced axes, of size 1. */
const rule =
  <K extends ReduceOp>(
    make: (
      parts: { readonly g: Tensor; readonly x: () => Tensor; readonly y: () => Tensor },
      site: Site,
    ) => Tensor,
  ): GradientRule<K> =>
  (site) => {
    const g = keepAxes(site as Site, site.gradient(0));
    const x = (): Tensor => site.input(0);
    const y = (): Tensor => keepAxes(site as Site, site.output(0));
    return [make({ g, x, y }, site as Site)];
  };

const spread = (g: Tensor, { inputType }: Site): Tensor => expand(g, inputType(0).shape);

/** Splits the gradient equally among all elements that equal the extremum. */
const shares = rule<"ReduceMax" | "ReduceMin">(({ g, x, y }, { attributes: { axes } }) => {
  const taken = equal(x(), y());
  const count = reduceSum(cast(taken, "f32"), { axes, keepdims: true });
  return where(taken, cast(div(wide(g), count), g.dtype), 0);
});

/**
 * Each element's gradient is the product of the other elements. Let P be the product of the nonzero elements.
 * If no element is 0, the gradient of x is P/x. If exactly one element is 0, its gradient is P, the others 0.
 * If several are 0, all gradients are 0. The gradient of this gradient is right only where no element is 0.
 */
const products = rule<"ReduceProd">(({ g, x }, { attributes: { axes } }) => {
  const values = wide(x());
  const isZero = equal(values, 0);
  const nonzero = where(isZero, 1, values);
  const zero = cast(isZero, "f32");
  const product = reduceProd(nonzero, { axes, keepdims: true });
  const otherZeros = sub(reduceSum(zero, { axes, keepdims: true }), zero);
  return cast(where(equal(otherZeros, 0), div(mul(wide(g), product), nonzero), 0), g.dtype);
});

const INDICES = { zero: "its output is an index" };

export const reduceGradients: GradientTable<OpOf<"reduce">> = {
  ReduceSum: rule(({ g }, site) => spread(g, site)),
  ReduceMean: rule(({ g }, site) => {
    const count = elementCount(site.inputType(0).shape, "ReduceMean") / elementCount(g.shape, "ReduceMean");
    return spread(cast(div(wide(g), count), g.dtype), site);
  }),
  ReduceMax: shares,
  ReduceMin: shares,
  ReduceProd: products,
  ReduceL1: rule(({ g, x }) => mul(g, sign(x()))),
  // x/y, and 0 where all elements are 0, as in PyTorch.
  ReduceL2: rule(({ g, x, y }) => mul(x(), div(g, where(equal(y(), 0), 1, y())))),
  // 1/Σx = e^-y
  ReduceLogSum: rule(({ g, y }, site) => spread(cast(mul(wide(g), exp(neg(wide(y())))), g.dtype), site)),
  // The softmax e^(x-y); rows of -∞ only get 0 instead of NaN.
  ReduceLogSumExp: rule(({ g, x, y }) => {
    const total = wide(y());
    const shifted = sub(wide(x()), where(isInf(total), 0, total));
    return cast(mul(exp(shifted), wide(g)), g.dtype);
  }),
  ReduceSumSquare: rule(({ g, x }) => mul(x(), mul(g, 2))),
  ArgMax: INDICES,
  ArgMin: INDICES,
  TopK: ({ attributes: { axis }, gradient, output, inputType }) => [
    scatterElements(zeroGradient(inputType(0)), output(1), gradient(0), { axis }),
  ],
  CumSum: ({ attributes: { axis, exclusive, reverse }, gradient }) => [
    cumSum(gradient(0), axis, { exclusive, reverse: !reverse }),
  ],
};
