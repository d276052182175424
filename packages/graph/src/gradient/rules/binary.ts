import type { Op } from "../../graph/attributes.js";
import type { OpOf } from "../../graph/families.js";
import {
  add,
  and,
  div,
  equal,
  greater,
  greaterOrEqual,
  less,
  mul,
  pow,
  sub,
  where,
} from "../../trace/ops/binary.js";
import { log, neg, round } from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import {
  type GradientRule,
  type GradientSite,
  type GradientTable,
  unbroadcast,
  zeroGradient,
} from "./rule.js";

/** The gradient of an operand, summed over the axes along which the operand was repeated; undefined if not needed. */
function forOperand<K extends Op>(
  { needs, inputType }: GradientSite<K>,
  index: number,
  make: () => Tensor,
): Tensor | undefined {
  return needs(index) ? unbroadcast(make(), inputType(index).shape) : undefined;
}

const PREDICATE = { zero: "its output is bool" };

/** Equal operands get half of the gradient each. `loses(a, b)` is true where the result is b, not a. */
const extremum =
  <K extends "Max" | "Min">(loses: (a: Tensor, b: Tensor) => Tensor): GradientRule<K> =>
  (site) => {
    if (site.same(0, 1)) return [site.gradient(0)];
    const [a, b] = [site.input(0), site.input(1)];
    const shared = where(equal(a, b), mul(site.gradient(0), 0.5), site.gradient(0));
    return [
      forOperand(site, 0, () => where(loses(a, b), 0, shared)),
      forOperand(site, 1, () => where(loses(b, a), 0, shared)),
    ];
  };

/** b · a^(b-1) · g; 0 where b is 0, even at a = 0, where the formula gives 0 · ∞. */
function powBase({ gradient, input, literal }: GradientSite<"Pow">): Tensor {
  const [g, a] = [gradient(0), input(0)];
  const exponent = literal(1);
  if (exponent === 0) return zeroGradient(g);
  if (exponent === 1) return g;
  if (exponent === 2) return mul(g, add(a, a));
  if (exponent !== undefined) return mul(g, mul(pow(a, exponent - 1), exponent));
  const b = input(1);
  return where(equal(b, 0), 0, mul(g, mul(b, pow(a, sub(b, 1)))));
}

/** y · log(a) · g, which tends to 0 at a = 0 for b ≥ 0. */
function powExponent({ gradient, input, output }: GradientSite<"Pow">): Tensor {
  const [a, b] = [input(0), input(1)];
  const vanishes = and(equal(a, 0), greaterOrEqual(b, 0));
  return where(vanishes, 0, mul(gradient(0), mul(output(0), log(a))));
}

export const binaryGradients: GradientTable<OpOf<"binary">> = {
  Add: (site) => [forOperand(site, 0, () => site.gradient(0)), forOperand(site, 1, () => site.gradient(0))],
  Sub: (site) => {
    const b = forOperand(site, 1, () => site.gradient(0));
    return [forOperand(site, 0, () => site.gradient(0)), b === undefined ? undefined : neg(b)];
  },
  Mul: (site) => {
    const { gradient, input } = site;
    if (site.same(0, 1)) return [mul(gradient(0), add(input(0), input(0)))];
    return [
      forOperand(site, 0, () => mul(gradient(0), input(1))),
      forOperand(site, 1, () => mul(gradient(0), input(0))),
    ];
  },
  // d/db a/b = -(1/b) · y; in f16, (g/b) · y stays in range where b² would not.
  Div: (site) => {
    const quotient = div(site.gradient(0), site.input(1));
    const b = forOperand(site, 1, () => mul(quotient, site.output(0)));
    return [forOperand(site, 0, () => quotient), b === undefined ? undefined : neg(b)];
  },
  Pow: (site) => [forOperand(site, 0, () => powBase(site)), forOperand(site, 1, () => powExponent(site))],
  // a - trunc(a / b) · b; trunc(a / b) is recovered from y, so that it equals the forward pass's.
  Mod: (site) => {
    const { gradient, input, output } = site;
    const b = forOperand(site, 1, () => mul(gradient(0), round(div(sub(input(0), output(0)), input(1)))));
    return [forOperand(site, 0, () => gradient(0)), b === undefined ? undefined : neg(b)];
  },
  Max: extremum(less),
  Min: extremum(greater),
  Equal: PREDICATE,
  Greater: PREDICATE,
  GreaterOrEqual: PREDICATE,
  Less: PREDICATE,
  LessOrEqual: PREDICATE,
  And: PREDICATE,
  Or: PREDICATE,
  Xor: PREDICATE,
  Where: (site) => [
    undefined,
    forOperand(site, 1, () => where(site.input(0), site.gradient(0), 0)),
    forOperand(site, 2, () => where(site.input(0), 0, site.gradient(0))),
  ],
};
