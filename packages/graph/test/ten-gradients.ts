import { roundTo } from "../src/float-format/round.js";
import type { customGradient } from "../src/gradient/custom-gradient.js";
import { add, div, greater, mul, sub, where } from "../src/trace/ops/binary.js";
import {
  abs,
  cast,
  clip,
  cos,
  exp,
  identity,
  log,
  neg,
  reciprocal,
  round,
  sigmoid,
  sin,
  sqrt,
} from "../src/trace/ops/unary.js";
import type { Tensor } from "../src/trace/tensor.js";

/** A function of each element with a gradient of its own, and the same by hand, as functions of numbers. */
export interface TenthOf {
  readonly name: string;
  readonly make: (custom: typeof customGradient) => (x: Tensor) => Tensor;
  readonly value: (x: number) => number;
  /** The cotangent of x for that of the result. */
  readonly pulled: (x: number, cotangent: number) => number;
  /** The derivative of `pulled` by x. */
  readonly twice: (x: number, cotangent: number) => number;
}

const logistic = (x: number): number => 1 / (1 + Math.exp(-x));

/** Ten functions whose gradients are written by hand: most of them are not the derivatives. */
export const TEN: readonly TenthOf[] = [
  {
    name: "reversed",
    make: (custom) =>
      custom(
        (x: Tensor) => x,
        (_, g) => [neg(g)],
      ),
    value: (x) => x,
    pulled: (_, g) => -g,
    twice: () => 0,
  },
  {
    name: "rounded straight through",
    make: (custom) =>
      custom(
        (x: Tensor) => round(x),
        (_, g) => [g],
      ),
    value: (x) => roundTo("f32", 1.5 * 2 ** 23 + x) - 1.5 * 2 ** 23,
    pulled: (_, g) => g,
    twice: () => 0,
  },
  {
    name: "clipped",
    make: (custom) =>
      custom(
        (x: Tensor) => identity(x),
        (_, g) => [clip(g, { min: -0.25, max: 0.25 })],
      ),
    value: (x) => x,
    pulled: (_, g) => Math.max(-0.25, Math.min(0.25, g)),
    twice: () => 0,
  },
  {
    name: "of 3 bits of E5M2",
    make: (custom) =>
      custom(
        (x: Tensor) => mul(x, 2),
        (_, g) => [mul(cast(cast(g, "f8e5m2"), "f32"), 2)],
      ),
    value: (x) => 2 * x,
    pulled: (_, g) => 2 * roundTo("f8e5m2", g),
    twice: () => 0,
  },
  {
    name: "of log(1 + exp)",
    make: (custom) =>
      custom(
        (x: Tensor) => log(add(exp(x), 1)),
        ({ inputs: [x] }, g) => [mul(g, sigmoid(x))],
      ),
    value: (x) => Math.log1p(Math.exp(x)),
    pulled: (x, g) => g * logistic(x),
    twice: (x, g) => g * logistic(x) * (1 - logistic(x)),
  },
  {
    name: "from the result",
    make: (custom) =>
      custom(
        (x: Tensor) => exp(x),
        ({ result }, g) => [mul(mul(g, result), 3)],
      ),
    value: Math.exp,
    pulled: (x, g) => 3 * g * Math.exp(x),
    // The result's own gradient is the rule's.
    twice: (x, g) => 9 * g * Math.exp(x),
  },
  {
    name: "from residuals",
    make: (custom) =>
      custom(
        (x: Tensor) => {
          const square = mul(x, x);
          return [mul(square, x), { square, wave: sin(x) }];
        },
        ({ residuals: { square, wave } }, g) => [mul(g, sub(mul(square, 3), wave))],
        { hasResiduals: true },
      ),
    value: (x) => x ** 3,
    pulled: (x, g) => g * (3 * x * x - Math.sin(x)),
    twice: (x, g) => g * (6 * x - Math.cos(x)),
  },
  {
    name: "of two results",
    make: (custom) => {
      const both = custom(
        (x: Tensor) => ({ sine: sin(x), cosine: cos(x) }),
        ({ result }, g) => [sub(mul(g.sine, result.cosine), mul(mul(g.cosine, result.sine), 2))],
      );
      return (x) => {
        const { sine, cosine } = both(x);
        return add(sine, mul(cosine, 0.5));
      };
    },
    value: (x) => Math.sin(x) + 0.5 * Math.cos(x),
    pulled: (x, g) => g * (Math.cos(x) - Math.sin(x)),
    // d cosine = -2 sin, d sine = cos by the rule.
    twice: (x, g) => g * (-2 * Math.sin(x) - Math.cos(x)),
  },
  {
    name: "with an integer input and one without a cotangent",
    make: (custom) => {
      const scaled = custom(
        (parts: { readonly x: Tensor; readonly count: Tensor }, other: Tensor) =>
          mul(div(parts.x, other), cast(parts.count, "f32")),
        ({ inputs: [{ count }] }, g) => [{ x: mul(g, cast(count, "f32")), count: undefined }, null],
      );
      return (x) => scaled({ x, count: cast(add(mul(x, 0), 3), "i32") }, add(abs(x), 1));
    },
    value: (x) => (3 * x) / (Math.abs(x) + 1),
    pulled: (_, g) => 3 * g,
    twice: () => 0,
  },
  {
    name: "finite at 0",
    make: (custom) =>
      custom(
        (x: Tensor) => sqrt(abs(x)),
        ({ inputs: [x] }, g) => [where(greater(abs(x), 0), mul(g, reciprocal(add(abs(x), 1))), 0)],
      ),
    value: (x) => Math.sqrt(Math.abs(x)),
    pulled: (x, g) => (x === 0 ? 0 : g / (Math.abs(x) + 1)),
    twice: (x, g) => (x === 0 ? 0 : (-g * Math.sign(x)) / (Math.abs(x) + 1) ** 2),
  },
];
