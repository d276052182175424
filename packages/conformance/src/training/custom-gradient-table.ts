/** Functions with custom gradients, and the same functions of numbers by hand. */
import { type customGradient, roundTo, type Tensor } from "@mp/graph";
import {
  abs,
  add,
  cast,
  clip,
  cos,
  div,
  exp,
  greater,
  log,
  mul,
  neg,
  reciprocal,
  round,
  sigmoid,
  sin,
  sqrt,
  sub,
  where,
} from "@mp/graph/ops";

export interface CustomGradientSample {
  readonly name: string;
  /** Makes the elementwise function with `customGradient` or a wrong replacement. */
  readonly make: (custom: typeof customGradient) => (x: Tensor) => Tensor;
  readonly value: (x: number) => number;
  /** The cotangent of x, given that of the result. */
  readonly pulled: (x: number, cotangent: number) => number;
  /** The derivative of `pulled` with respect to x. */
  readonly twice: (x: number, cotangent: number) => number;
}

const logistic = (x: number): number => 1 / (1 + Math.exp(-x));

/** Most of these gradients are not the derivatives of their functions. */
export const CUSTOM_GRADIENTS: readonly CustomGradientSample[] = [
  {
    name: "reversal",
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
    name: "straight-through",
    make: (custom) =>
      custom(
        (x: Tensor) => round(x),
        (_, g) => [g],
      ),
    value: Math.round,
    pulled: (_, g) => g,
    twice: () => 0,
  },
  {
    name: "clipped",
    make: (custom) =>
      custom(
        (x: Tensor) => mul(x, 2),
        (_, g) => [clip(g, { min: -0.25, max: 0.25 })],
      ),
    value: (x) => 2 * x,
    pulled: (_, g) => Math.max(-0.25, Math.min(0.25, g)),
    twice: () => 0,
  },
  {
    name: "e5m2",
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
    name: "softplus",
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
    name: "of-the-result",
    make: (custom) =>
      custom(
        (x: Tensor) => exp(x),
        ({ result }, g) => [mul(mul(g, result), 3)],
      ),
    value: Math.exp,
    pulled: (x, g) => 3 * g * Math.exp(x),
    // The rule is also the derivative of `result`, hence the second factor of 3.
    twice: (x, g) => 9 * g * Math.exp(x),
  },
  {
    name: "residuals",
    make: (custom) =>
      custom(
        (x: Tensor) => {
          const square = mul(x, x);
          return [mul(square, x), { square, wave: sin(x) }];
        },
        ({ residuals: { square, wave } }, g) => [mul(g, sub(mul(square, 3), mul(wave, 8)))],
        { hasResiduals: true },
      ),
    value: (x) => x ** 3,
    pulled: (x, g) => g * (3 * x * x - 8 * Math.sin(x)),
    twice: (x, g) => g * (6 * x - 8 * Math.cos(x)),
  },
  {
    name: "two-results",
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
    // The derivative of the cosine is -2 · sin by the rule.
    twice: (x, g) => g * (-2 * Math.sin(x) - Math.cos(x)),
  },
  {
    name: "integer-input",
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
    name: "finite-at-0",
    make: (custom) =>
      custom(
        (x: Tensor) => [sqrt(abs(x)), { distance: abs(x), isThere: cast(greater(abs(x), 0), "f32") }],
        ({ residuals: { distance, isThere } }, g) => [
          where(greater(isThere, 0), mul(g, reciprocal(add(distance, 1))), 0),
        ],
        { hasResiduals: true },
      ),
    value: (x) => Math.sqrt(Math.abs(x)),
    pulled: (x, g) => (x === 0 ? 0 : g / (Math.abs(x) + 1)),
    twice: (x, g) => (x === 0 ? 0 : (-g * Math.sign(x)) / (Math.abs(x) + 1) ** 2),
  },
];
