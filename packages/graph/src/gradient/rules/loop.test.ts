import { type GradientCase, pointOf, positivePoint } from "../../../test/finite-differences.js";
import { testGradients } from "../../../test/gradient-tests.js";
import { add, div, mul, sub } from "../../trace/ops/binary.js";
import { scan } from "../../trace/ops/loop.js";
import { matMul } from "../../trace/ops/matrix.js";
import { concat, reshape } from "../../trace/ops/movement.js";
import { reduceSum } from "../../trace/ops/reduce.js";
import { exp, sigmoid, tanh } from "../../trace/ops/unary.js";
import { remat } from "../../trace/remat.js";
import type { Tensor } from "../../trace/tensor.js";
import { loopGradients } from "./loop.js";

/** All results of a recurrence as one vector. */
const flat = (...tensors: readonly Tensor[]): Tensor =>
  concat(tensors.map((x) => reshape(x, [x.shape.reduce((a, b) => a * b, 1)])));

const recurrent = (step: (h: Tensor, x: Tensor, w: Tensor, b: Tensor) => Tensor, reverse = false) =>
  ((h: Tensor, xs: Tensor, w: Tensor, b: Tensor) => {
    const [last, all] = scan(
      (state: Tensor, x: Tensor) => {
        const next = step(state, x, w, b);
        return [next, next];
      },
      h,
      xs,
      { reverse },
    );
    return flat(last, all);
  }) as GradientCase["fn"];

const cell = (h: Tensor, x: Tensor, w: Tensor, b: Tensor): Tensor => tanh(add(add(matMul(h, w), x), b));

const points = [pointOf([2, 3], 1), pointOf([4, 2, 3], 2), pointOf([3, 3], 3), pointOf([3], 4)];

const cases: readonly GradientCase[] = [
  { op: "Scan", name: "a recurrent cell", fn: recurrent(cell), points },
  { op: "Scan", name: "reversed", fn: recurrent(cell, true), points },
  {
    op: "Scan",
    name: "recomputed",
    fn: recurrent(remat(cell)),
    points,
  },
  {
    op: "Scan",
    name: "inside a recomputed function",
    fn: remat(recurrent(cell) as (...tensors: readonly Tensor[]) => Tensor),
    points,
  },
  {
    op: "Scan",
    name: "invariants that are no products",
    fn: recurrent((h, x, w, b) => sub(mul(sigmoid(mul(h, b)), x), div(reduceSum(w), add(exp(b), 1)))),
    points,
  },
  {
    op: "Scan",
    name: "one step",
    fn: recurrent(cell),
    points: [pointOf([2, 3], 1), pointOf([1, 2, 3], 2), pointOf([3, 3], 3), pointOf([3], 4)],
  },
  {
    op: "Scan",
    name: "no sequences, two carries that change places, one result unread",
    fn: ((a: Tensor, b: Tensor) => {
      const [[x, y], { kept }] = scan(
        ([first, second]: readonly [Tensor, Tensor]) => [
          [second, mul(first, tanh(second))] as const,
          { kept: exp(first), dropped: sigmoid(second) },
        ],
        [a, b] as const,
        [],
        { length: 3 },
      );
      return flat(x as Tensor, y as Tensor, kept);
    }) as GradientCase["fn"],
    points: [pointOf([3], 5), positivePoint([3], 6)],
  },
  {
    op: "Scan",
    name: "a map, without carries",
    fn: ((xs: Tensor, w: Tensor) => {
      const [, ys] = scan((none: readonly [], x: Tensor) => [none, tanh(matMul(x, w))], [] as const, xs);
      return ys;
    }) as GradientCase["fn"],
    points: [pointOf([4, 2, 3], 7), pointOf([3, 2], 8)],
  },
  {
    op: "Scan",
    name: "a scan in a scan",
    fn: ((h: Tensor, xs: Tensor, w: Tensor) => {
      const [last, all] = scan(
        (state: Tensor, x: Tensor) => {
          const [inner] = scan(
            (value: Tensor, element: Tensor) => [tanh(add(matMul(value, w), element)), []] as const,
            state,
            x,
          );
          return [mul(inner, state), inner] as const;
        },
        h,
        xs,
      );
      return flat(last, all);
    }) as GradientCase["fn"],
    points: [pointOf([2, 3], 1), pointOf([2, 2, 2, 3], 2), pointOf([3, 3], 3)],
  },
];

testGradients(loopGradients, cases);
