import type { OpOf } from "../../graph/families.js";
import type { ValueType } from "../../graph/graph.js";
import { emit } from "../../trace/emit.js";
import { mul, sub, where } from "../../trace/ops/binary.js";
import { matMul } from "../../trace/ops/matrix.js";
import { reduceSum } from "../../trace/ops/reduce.js";
import type { Tensor } from "../../trace/tensor.js";
import { attentionShares } from "./attention-shares.js";
import {
  type GradientRule,
  type GradientTable,
  narrow,
  swapLast,
  toShape,
  unbroadcast,
  wide,
  zeroGradient,
} from "./rule.js";

/**
 * With P the probabilities and S the scores: dV = Pᵀ·g, dP = g·Vᵀ, dS = P · (dP - Σ P·dP), dQ = scale · dS·K and
 * dK = scale · dSᵀ·Q (Dao et al., arXiv 2205.14135). P is computed again from Q and K, behind a barrier so that neither
 * it nor the scores of the forward pass are kept. Each product transposes its smaller matrix: dV = (gᵀ·P)ᵀ.
 */
const attentionGradient: GradientRule<"Attention"> = (site) => {
  const { attributes, gradient, input, inputType, inputTypes, outputTypes, needs } = site;
  const [queryType, keyType, valueType] = [inputType(0), inputType(1), inputType(2)];
  const maskType = inputTypes[3];
  if (outputTypes[0]?.shape.includes(0) || keyType.shape[2] === 0)
    return inputTypes.map((type, index) => (needs(index) ? zeroGradient(type) : undefined));
  const g = gradient(0);
  const queried = emit("Barrier", [input(0), g], {});
  const operands = [queried, input(1), maskType && input(3)] as const;
  const { shares, query, bent, attends } = attentionShares(...operands, attributes);
  const received = attends === undefined ? wide(g) : where(attends, wide(g), 0);
  const own = toShape(received, [...shares.shape.slice(0, 3), valueType.shape[3] as number]);
  const forValue = (): Tensor => narrow(swapLast(matMul(swapLast(own), shares)), valueType);
  const needsMask = maskType !== undefined && needs(3);
  if (!needs(0) && !needs(1) && !needsMask) return [undefined, undefined, forValue()];
  const slope = matMul(own, swapLast(wide(input(2))));
  const total = reduceSum(mul(shares, slope), { axes: [3], keepdims: true });
  const biased = mul(shares, sub(slope, total));
  const scores = bent === undefined ? biased : mul(biased, sub(1, mul(bent, bent)));
  const forQuery = (): Tensor =>
    narrow(toShape(mul(matMul(scores, wide(input(1))), attributes.scale), queryType.shape), queryType);
  const forMask = (type: ValueType): Tensor => {
    const [batch = 0, heads = 0, time = 0] = queryType.shape;
    const each = toShape(biased, [batch, heads, time, keyType.shape[2] as number]);
    return narrow(unbroadcast(each, type.shape), type);
  };
  return [
    needs(0) ? forQuery() : undefined,
    needs(1) ? narrow(swapLast(matMul(swapLast(query), scores)), keyType) : undefined,
    needs(2) ? forValue() : undefined,
    needsMask ? forMask(maskType) : undefined,
  ];
};

export const attentionGradients: GradientTable<OpOf<"attention">> = {
  Attention: attentionGradient,
};
