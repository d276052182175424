import type { OpOf } from "@mp/core/graph";
import { float, int, string } from "../model.js";
import type { LoweringTable } from "./lowering.js";
import { plain } from "./plain.js";

export const matrixLowerings: LoweringTable<OpOf<"matrix">> = {
  MatMul: plain(),
  Einsum: plain(({ attributes: { equation } }) => ({ equation: string(equation) })),
  Gemm: plain(({ attributes: { transA, transB, alpha, beta } }) => ({
    transA: int(transA ? 1 : 0),
    transB: int(transB ? 1 : 0),
    alpha: float(alpha),
    beta: float(beta),
  })),
};
