import type { OpAttributes } from "../../graph/attributes.js";
import type { OpOf } from "../../graph/families.js";
import type { Value } from "../../graph/graph.js";
import { emit, emitAll } from "../../trace/emit.js";
import { mul, sub, where } from "../../trace/ops/binary.js";
import { matMul } from "../../trace/ops/matrix.js";
import { reduceSum } from "../../trace/ops/reduce.js";
import { Tensor } from "../../trace/tensor.js";
import { currentBuilder, traceInto } from "../../trace/trace.js";
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
 * The gradients of query, key and value, and of a floating mask. Let P be the probabilities, S the scores and g the
 * gradient dy of the result. Then dV = Pᵀ·g, dP = g·Vᵀ, dS = P · (dP - Σ P·dP), dQ = scale · dS·K and dK = scale ·
 * dSᵀ·Q (Dao et al., arXiv 2205.14135). P is recomputed from Q and K. A barrier keeps the engine from reusing P and S
 * of the forward pass, which would then stay in memory. Each product is arranged to transpose its smaller matrix, for
 * example dV = (gᵀ·P)ᵀ.
 * @param operands dy, then the operands of Attention
 */
export function attentionSlopes(
  operands: readonly Tensor[],
  attributes: OpAttributes["Attention"],
): readonly Tensor[] {
  const [g, given, key, value, mask] = operands as [Tensor, Tensor, Tensor, Tensor, Tensor?];
  if (g.shape.includes(0) || key.shape[2] === 0) return operands.slice(1).map((x) => zeroGradient(x));
  const queried = emit("Barrier", [given, g], {});
  const { shares, query, bent, attends } = attentionShares(queried, key, mask, attributes);
  const received = attends === undefined ? wide(g) : where(attends, wide(g), 0);
  const own = toShape(received, [...shares.shape.slice(0, 3), value.shape[3] as number]);
  const slope = matMul(own, swapLast(wide(value)));
  const total = reduceSum(mul(shares, slope), { axes: [3], keepdims: true });
  const biased = mul(shares, sub(slope, total));
  const scores = bent === undefined ? biased : mul(biased, sub(1, mul(bent, bent)));
  const slopes = [
    narrow(toShape(mul(matMul(scores, wide(key)), attributes.scale), given.shape), given),
    narrow(swapLast(matMul(swapLast(query), scores)), key),
    narrow(swapLast(matMul(swapLast(own), shares)), value),
  ];
  if (mask === undefined || mask.dtype === "bool") return slopes;
  const each = toShape(biased, [...given.shape.slice(0, 3), key.shape[2] as number]);
  return [...slopes, narrow(unbroadcast(each, mask.shape), mask)];
}

/** Emits one node, which engines may have a kernel for. If the mask needs a gradient, too, emits the node's parts. */
const attentionGradient: GradientRule<"Attention"> = ({ attributes, gradient, input, inputTypes, needs }) => {
  const operands = [gradient(0), ...inputTypes.map((_, index) => input(index))];
  const isWhole = inputTypes.length < 4 || !needs(3);
  return isWhole ? emitAll("AttentionGradient", operands, attributes) : attentionSlopes(operands, attributes);
};

/** Differentiates the products and the softmax that the node stands for. */
const secondGradient: GradientRule<"AttentionGradient"> = (site) => {
  const { attributes, inputTypes, input, gradient, differentiate } = site;
  const inputs = inputTypes.map((type, index) => ({ name: `${index}`, role: "batch" as const, type }));
  const { graph } = traceInto(inputs, (operands) => [...attentionSlopes(operands, attributes)]);
  const builder = currentBuilder("AttentionGradient");
  const valueIn = (x: Tensor): Value => Tensor.valueIn(x, builder, "AttentionGradient");
  const { values, names } = builder.inlineAll(
    graph,
    inputTypes.map((_, index) => valueIn(input(index))),
  );
  const seeds = graph.outputs
    .slice(0, 3)
    .map(({ value }, index) => [value, valueIn(gradient(index))] as const);
  const wrt = graph.inputs.map(({ value }) => value).filter(({ dtype }) => dtype !== "bool");
  return differentiate(builder, { graph, values, names, seeds, wrt }).map(({ value }) => Tensor.of(value));
};

export const attentionGradients: GradientTable<OpOf<"attention">> = {
  Attention: attentionGradient,
  AttentionGradient: secondGradient,
};
