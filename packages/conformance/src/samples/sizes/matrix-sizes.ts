import type { Shape } from "@mp/core";
import type { OpAttributes, OpOf } from "@mp/core/graph";
import { exact } from "../op-sample.js";
import { type SizeRows, whole } from "./size-row.js";

/** Rows, columns, inner axes and batches beyond 64, 1 000, 4 096 and 65 536; a row and a column times a matrix. */
const PRODUCTS: readonly (readonly [Shape, Shape])[] = [
  [[4_133, 5], [5, 18]],
  [[5, 3], [3, 14_001]],
  [[3, 4_133], [4_133, 2]],
  [[1, 66_002], [66_002, 2]],
  [[2, 66_002], [66_002]],
  [[66_002, 2], [2, 1]],
  [[1, 1_031], [1_031, 67]],
  [[67, 1_031], [1_031, 1]],
  [[131, 65], [65, 66]],
  [[4_133, 2, 3], [4_133, 3, 3]],
  [[66_002, 1, 2], [66_002, 2, 1]],
  [[4_133, 2, 3], [3, 9]],
  [[3, 1, 2, 1_031], [1_031, 3]],
]; // biome-ignore format: one pair a line

const einsum = (equation: string, ...shapes: readonly Shape[]) =>
  exact<"Einsum">({ equation }, ...shapes.map((shape) => whole(shape)));

const gemm = (a: Shape, b: Shape, given: Partial<OpAttributes["Gemm"]> = {}, ...rest: readonly Shape[]) =>
  exact<"Gemm">(
    { transA: false, transB: false, alpha: 1, beta: 1, ...given },
    ...[a, b, ...rest].map((shape) => whole(shape)),
  );

export const matrixSizes: SizeRows<OpOf<"matrix">> = {
  MatMul: () => PRODUCTS.map(([a, b]) => exact<"MatMul">({}, whole(a), whole(b))),
  Gemm: () => [
    gemm([4_133, 5], [5, 18], {}, [18]),
    gemm([5, 4_133], [18, 5], { transA: true, transB: true }, [4_133, 1]),
    gemm([3, 4_133], [2, 4_133], { transB: true, alpha: 0.5 }),
    gemm([66_002, 2], [66_002, 3], { transA: true }, [2, 1]),
    gemm([67, 131], [131, 1_031], { beta: 2 }, [67, 1_031]),
  ],
  Einsum: () => [
    einsum("ij,jk->ik", [4_133, 5], [5, 18]),
    einsum("ij,jk->ki", [3, 66_002], [66_002, 2]),
    einsum("ji,kj->ik", [2, 66_002], [3, 2]),
    einsum("bij,bjk->bik", [66_002, 1, 2], [66_002, 2, 1]),
    einsum("ibj,kjb->bki", [3, 4_133, 2], [3, 2, 4_133]),
    einsum("i,i->", [66_002], [66_002]),
    einsum("i,j->ji", [3], [66_002]),
    einsum("ij->j", [66_002, 3]),
    einsum("ii->i", [1_031, 1_031]),
    einsum("ij,jk,kl->il", [67, 131], [131, 1_031], [1_031, 3]),
    einsum("...ij,...jk->...ik", [4_133, 1, 2, 3], [1, 2, 3, 2]),
  ],
};
