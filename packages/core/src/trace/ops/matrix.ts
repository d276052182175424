/** Matrix products. Halves accumulate in f32 and are rounded once, on every engine. */
import { checkOptions } from "../../options.js";
import { emit } from "../emit.js";
import type { Tensor } from "../tensor.js";

/** NumPy's matmul: [..., m, k] by [..., k, n], leading axes broadcast, vectors allowed. */
export function matMul(a: Tensor, b: Tensor): Tensor {
  return emit("MatMul", [a, b], {});
}

export interface GemmOptions {
  readonly transA?: boolean;
  readonly transB?: boolean;
  readonly alpha?: number;
  readonly beta?: number;
}

/** alpha · A' · B' + beta · C for matrices A, B and a C that broadcasts to the result. */
export function gemm(a: Tensor, b: Tensor, c?: Tensor, options: GemmOptions = {}): Tensor {
  checkOptions("Gemm", options, { transA: true, transB: true, alpha: true, beta: true });
  const { transA = false, transB = false, alpha = 1, beta = 1 } = options;
  return emit("Gemm", c === undefined ? [a, b] : [a, b, c], { transA, transB, alpha, beta });
}
