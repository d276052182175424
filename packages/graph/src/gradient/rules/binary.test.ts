import { type GradientCase, type Point, pointOf, positivePoint } from "../../../test/finite-differences.js";
import { testGradients } from "../../../test/gradient-tests.js";
import type { Op } from "../../graph/attributes.js";
import { tensor } from "../../host/host-tensor.js";
import * as binaryOps from "../../trace/ops/binary.js";
import { constant } from "../../trace/ops/source.js";
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

const mask = (): Tensor =>
  binaryOps.greater(constant(tensor(Float32Array.of(1, -1, 2, -2, 3, -3), [2, 3])), 0);

const cases: readonly GradientCase[] = [
  ...binary("Add", binaryOps.add),
  ...binary("Sub", binaryOps.sub),
  ...binary("Mul", binaryOps.mul),
  ...binary("Div", binaryOps.div, positivePoint),
  ...binary("Pow", binaryOps.pow, positivePoint),
  ...binary("Max", binaryOps.maximum),
  ...binary("Min", binaryOps.minimum),
  ...shapes.map(
    ([a, b]): GradientCase => ({
      op: "Mod",
      fn: (x, y) => binaryOps.mod(x as Tensor, binaryOps.add(y as Tensor, 2.1), { fmod: true }),
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
      fn: (x) => binaryOps.pow(x as Tensor, power),
      points: [Number.isInteger(power) ? pointOf([2, 3]) : positivePoint([2, 3])],
    }),
  ),
  {
    op: "Pow",
    name: "of the literal 2",
    fn: (x) => binaryOps.pow(2, x as Tensor),
    points: [pointOf([2, 3])],
  },
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
      fn: (x, y) => binaryOps.where(mask(), x as Tensor, y as Tensor),
      points: [pointOf(a, 1), pointOf(b, 2)],
    }),
  ),
];

testGradients(binaryGradients, cases);
