import { type GradientCase, pointOf } from "../../../test/finite-differences.js";
import { testGradients } from "../../../test/gradient-tests.js";
import { einsum, gemm, matMul } from "../../trace/ops/matrix.js";
import type { Tensor } from "../../trace/tensor.js";
import { matrixGradients } from "./matrix.js";

const flags = [
  [false, false],
  [false, true],
  [true, false],
  [true, true],
] as const;

const cases: readonly GradientCase[] = [
  ...(
    [
      [
        [2, 3],
        [3, 4],
      ],
      [[3], [3]],
      [[3], [3, 4]],
      [[2, 3], [3]],
      [
        [2, 2, 3],
        [3, 4],
      ],
      [
        [2, 2, 2, 3],
        [3, 2],
      ],
      [[2, 2, 3], [3]],
      [[3], [2, 3, 4]],
      [
        [2, 3],
        [2, 3, 4],
      ],
      [
        [2, 2, 3],
        [2, 3, 4],
      ],
      [
        [2, 1, 2, 3],
        [3, 3, 2],
      ],
      [
        [1, 2, 3],
        [2, 3, 2],
      ],
      [
        [2, 2, 3],
        [1, 3, 2],
      ],
      [
        [1, 2, 3],
        [3, 4],
      ],
      [
        [0, 3],
        [3, 4],
      ],
    ] as const
  ).map(
    ([a, b]): GradientCase => ({
      op: "MatMul",
      fn: (x, y) => matMul(x as Tensor, y as Tensor),
      points: [pointOf(a, 1), pointOf(b, 2)],
    }),
  ),
  ...flags.flatMap(([transA, transB]) =>
    ([[3, 4], [4], [1, 4], [3, 1], [1], [], undefined] as const).map(
      (c): GradientCase => ({
        op: "Gemm",
        name: `${transA ? "T" : "N"}${transB ? "T" : "N"}`,
        fn: (x, y, bias) => gemm(x as Tensor, y as Tensor, bias, { transA, transB, alpha: 0.7, beta: 1.3 }),
        points: [
          pointOf(transA ? [2, 3] : [3, 2], 1),
          pointOf(transB ? [4, 2] : [2, 4], 2),
          ...(c === undefined ? [] : [pointOf(c, 3)]),
        ],
      }),
    ),
  ),
  ...(
    [
      ["ij,jk->ik", [2, 3], [3, 4]],
      ["bij,kbj->ikb", [2, 2, 3], [2, 2, 3]],
      ["ij->ji", [2, 3]],
      ["ij->", [2, 3]],
      ["ij->j", [2, 3]],
      ["ii->", [3, 3]],
      ["ii->i", [3, 3]],
      ["ijij->i", [2, 3, 2, 3]],
      ["iii,ij->j", [2, 2, 2], [2, 3]],
      ["ij,kl->il", [2, 3], [2, 3]],
      ["i,i->", [3], [3]],
      ["i,j->ij", [2], [3]],
      ["ij,jk,kl->il", [2, 3], [3, 2], [2, 3]],
      ["...ij,...jk->...ik", [2, 1, 2, 3], [3, 3, 2]],
      ["...i->...", [2, 3]],
      ["...,...->...", [2, 1], [3]],
      [",i->i", [], [3]],
      ["ij,jk->ik", [0, 3], [3, 2]],
    ] as const
  ).map(
    ([equation, ...shapes]): GradientCase => ({
      op: "Einsum",
      name: equation,
      fn: (...operands) => einsum(equation, ...operands),
      points: shapes.map((shape, index) => pointOf(shape, index + 1)),
    }),
  ),
];

testGradients(matrixGradients, cases);
