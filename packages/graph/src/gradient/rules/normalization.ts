import type { OpOf } from "../../graph/families.js";
import { elementCount } from "../../shape.js";
import { add, div, mul, sub } from "../../trace/ops/binary.js";
import { reduceMean, reduceSum, reduceSumSquare } from "../../trace/ops/reduce.js";
import { exp, reciprocal, sqrt } from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import {
  type GradientRule,
  type GradientSite,
  type GradientTable,
  narrow,
  unbroadcast,
  wide,
} from "./rule.js";

/** Sums an f32 gradient over broadcast axes, then rounds it to the operand's dtype: a half dtype would lose digits. */
const back = <K extends OpOf<"normalization">>(
  { inputType }: GradientSite<K>,
  index: number,
  gradient: Tensor,
): Tensor => narrow(unbroadcast(gradient, inputType(index).shape), inputType(index));

const lastAxes = (shape: readonly number[], first: number): readonly number[] =>
  shape.flatMap((_, axis) => (axis < first ? [] : [axis]));

/**
 * y = x̂ · scale + bias, x̂ = (x - mean) · r; the forward pass saves mean and r in f32. With h = g · scale: dx = r ·
 * (h - mean(h) - x̂ · mean(h · x̂)). Gradients that reach mean and r themselves, as in second derivatives, are added
 * to the two means: d mean/dx = 1/n and dr/dx = -r² · x̂/n.
 */
const layerNormalizationGradient: GradientRule<"LayerNormalization"> = (site) => {
  const { attributes, gradient, input, inputTypes, output, receives, needs } = site;
  const { shape } = site.inputType(0);
  const axes = lastAxes(shape, attributes.axis);
  const g = wide(gradient(0));
  const r = output(2);
  const normalized = mul(sub(wide(input(0)), output(1)), r);

  const forX = (): Tensor => {
    const count = elementCount(shape.slice(attributes.axis), "LayerNormalization");
    const h = mul(g, wide(input(1)));
    let shift = reduceMean(h, { axes, keepdims: true });
    let slope = reduceMean(mul(h, normalized), { axes, keepdims: true });
    if (receives(1)) shift = sub(shift, div(gradient(1), mul(r, count)));
    if (receives(2)) slope = add(slope, mul(gradient(2), mul(r, 1 / count)));
    return mul(sub(sub(h, shift), mul(normalized, slope)), r);
  };
  return [
    needs(0) ? back(site, 0, forX()) : undefined,
    needs(1) ? back(site, 1, mul(g, normalized)) : undefined,
    inputTypes.length > 2 && needs(2) ? back(site, 2, g) : undefined,
  ];
};

/** y = x̂ · scale, x̂ = x · r, r = 1/√(mean(x²) + ε): dx = r · (h - x̂ · mean(h · x̂)) with h = g · scale. */
const rmsNormalizationGradient: GradientRule<"RMSNormalization"> = (site) => {
  const { attributes, gradient, input, needs } = site;
  const { shape } = site.inputType(0);
  const axes = lastAxes(shape, attributes.axis);
  const count = elementCount(shape.slice(attributes.axis), "RMSNormalization");
  const g = wide(gradient(0));
  const x = wide(input(0));
  const meanSquare = mul(reduceSumSquare(x, { axes, keepdims: true }), 1 / count);
  const r = reciprocal(sqrt(add(meanSquare, attributes.epsilon)));
  const normalized = mul(x, r);
  const forX = (): Tensor => {
    const h = mul(g, wide(input(1)));
    const slope = reduceMean(mul(h, normalized), { axes, keepdims: true });
    return mul(sub(h, mul(normalized, slope)), r);
  };
  return [
    needs(0) ? back(site, 0, forX()) : undefined,
    needs(1) ? back(site, 1, mul(g, normalized)) : undefined,
  ];
};

export const normalizationGradients: GradientTable<OpOf<"normalization">> = {
  // y · (g - Σ g·y)
  Softmax: (site) => {
    const [g, y] = [wide(site.gradient(0)), wide(site.output(0))];
    const total = reduceSum(mul(g, y), { axes: [site.attributes.axis], keepdims: true });
    return [back(site, 0, mul(y, sub(g, total)))];
  },
  // g - eʸ · Σ g
  LogSoftmax: (site) => {
    const g = wide(site.gradient(0));
    const total = reduceSum(g, { axes: [site.attributes.axis], keepdims: true });
    return [back(site, 0, sub(g, mul(exp(wide(site.output(0))), total)))];
  },
  LayerNormalization: layerNormalizationGradient,
  RMSNormalization: rmsNormalizationGradient,
};
