import { describe, expect, it } from "vitest";
import {
  type GradientCase,
  gradientError,
  gradientSum,
  halfError,
  type Point,
  pointOf,
  positivePoint,
  titled,
  withoutCase,
} from "../../../test/finite-differences.js";
import type { Op } from "../../graph/attributes.js";
import { tensor } from "../../host-tensor.js";
import * as e from "../../trace/ops/elementwise.js";
import { constant } from "../../trace/ops/movement.js";
import type { Tensor } from "../../trace/tensor.js";
import { binaryGradients } from "./binary.js";

type Make = (shape: readonly number[], seed?: number) => Point;

const shapes: readonly (readonly [readonly number[], readonly number[]])[] = [
  [
    [2, 3],
    [2, 3],
  ],
  [[2, 3], [3]],
  [[3], [2, 3]],
  [
    [2, 1],
    [1, 3],
  ],
  [[], [2, 3]],
  [[1, 3], [3]],
  [
    [2, 3, 4],
    [3, 1],
  ],
  [
    [1, 1],
    [2, 3, 4],
  ],
  [[0, 3], [3]],
];

const binary = (
  op: Op,
  fn: (a: Tensor, b: Tensor) => Tensor,
  make: Make = pointOf,
): readonly GradientCase[] => [
  ...shapes.map(([a, b]) => ({ op, fn, points: [make(a, 5), make(b, 9)] })),
  { op, name: "of one value twice", fn: (x) => fn(x as Tensor, x as Tensor), points: [make([2, 3])] },
];

const mask = (): Tensor => e.greater(constant(tensor(Float32Array.of(1, -1, 2, -2, 3, -3), [2, 3])), 0);

const cases: readonly GradientCase[] = [
  ...binary("Add", e.add),
  ...binary("Sub", e.sub),
  ...binary("Mul", e.mul),
  ...binary("Div", e.div, positivePoint),
  ...binary("Pow", e.pow, positivePoint),
  ...binary("Max", e.maximum),
  ...binary("Min", e.minimum),
  ...shapes.map(
    ([a, b]): GradientCase => ({
      op: "Mod",
      fn: (x, y) => e.mod(x as Tensor, e.add(y as Tensor, 2.1), { fmod: true }),
      points: [pointOf(a, 5), pointOf(b, 9)].map(({ shape, data }, index) => ({
        shape,
        data: data.map((value) => (index === 0 ? 4 * value : 0.2 * value)),
      })),
    }),
  ),
  ...[0, 1, 2, 3, -1, 0.5, 2.5].map(
    (power): GradientCase => ({
      op: "Pow",
      name: `to the literal ${power}`,
      fn: (x) => e.pow(x as Tensor, power),
      points: [Number.isInteger(power) ? pointOf([2, 3]) : positivePoint([2, 3])],
    }),
  ),
  { op: "Pow", name: "of the literal 2", fn: (x) => e.pow(2, x as Tensor), points: [pointOf([2, 3])] },
  ...(
    [
      [
        [2, 3],
        [2, 3],
      ],
      [[2, 1], [3]],
      [[], [2, 3]],
    ] as const
  ).map(
    ([a, b]): GradientCase => ({
      op: "Where",
      fn: (x, y) => e.where(mask(), x as Tensor, y as Tensor),
      points: [pointOf(a, 1), pointOf(b, 2)],
    }),
  ),
];

describe.each(titled(cases))("%s", (_, { fn, points }) => {
  it("agrees with finite differences", () => {
    expect(gradientError(fn, points)).toBeLessThan(2e-7);
  });
  it("stays in f16 and in bf16", () => {
    expect(halfError(fn, points, "f16")).toBeLessThan(2e-3);
    expect(halfError(fn, points, "bf16")).toBeLessThan(2e-2);
  });
});

describe.each(titled(cases.filter(({ second }) => second !== false)))("%s", (_, { fn, points }) => {
  it("has second derivatives that agree with finite differences", () => {
    expect(gradientError(gradientSum(fn), points)).toBeLessThan(1e-6);
  });
});

it("every rule of the family has a case", () => {
  expect(withoutCase(binaryGradients, cases)).toEqual([]);
});
