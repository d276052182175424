import type { OpOf } from "@mp/core/graph";
import { einsum, gemm, matMul } from "@mp/core/ops";
import { type GradientRows, type GradientSample, sample, spread } from "../gradient-sample.js";
import { of2, of3 } from "./of-operands.js";

const einsumOf =
  (equation: string): GradientSample["fn"] =>
  (...operands) =>
    einsum(equation, ...operands);

export const matrixGradients: GradientRows<OpOf<"matrix">> = {
  MatMul: [
    sample("matrices", of2(matMul), spread([3, 4]), spread([4, 2], 1)),
    sample("batches", of2(matMul), spread([2, 3, 4]), spread([4, 2], 1)),
    sample("broadcast-batches", of2(matMul), spread([2, 1, 3, 4]), spread([3, 4, 2], 1)),
    sample("vectors", of2(matMul), spread([4]), spread([4], 1)),
    sample("matrix-by-vector", of2(matMul), spread([3, 4]), spread([4], 1)),
  ],
  Einsum: [
    sample("matrices", einsumOf("ij,jk->ki"), spread([3, 4]), spread([4, 2], 1)),
    sample("batches", einsumOf("bqhd,bkhd->bhqk"), spread([2, 3, 2, 2]), spread([2, 2, 2, 2], 1)),
    sample("summed-letters", einsumOf("ij,kl->il"), spread([2, 3]), spread([2, 3], 1)),
    sample("a-diagonal", einsumOf("ii->i"), spread([3, 3])),
    sample("a-trace", einsumOf("ii"), spread([3, 3])),
    sample("a-diagonal-by-a-matrix", einsumOf("iij,jk->ik"), spread([2, 2, 3]), spread([3, 2], 1)),
    sample("an-ellipsis", einsumOf("...ij,...jk->...ik"), spread([2, 1, 2, 3]), spread([2, 3, 2], 1)),
    sample("three-operands", einsumOf("ij,jk,kl->il"), spread([2, 3]), spread([3, 2], 1), spread([2, 2], 2)),
  ],
  Gemm: [
    sample(
      "with-bias",
      of3((a, b, c) => gemm(a, b, c)),
      spread([3, 4]),
      spread([4, 2], 1),
      spread([2], 2),
    ),
    sample(
      "transposed-and-scaled",
      of3((a, b, c) => gemm(a, b, c, { transA: true, transB: true, alpha: 0.5, beta: 2 })),
      spread([4, 3]),
      spread([2, 4], 1),
      spread([3, 1], 2),
    ),
  ],
};
