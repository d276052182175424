import type { OpOf } from "@mp/core/graph";
import type { ReaderTable } from "./node/node-reader.js";
import { same } from "./same.js";

export const matrixReaders: ReaderTable<OpOf<"matrix">> = {
  MatMul: same("MatMul", 2),
  Einsum: (reader) => {
    const operands = Array.from({ length: reader.operandCount }, (_, index) => reader.operand(index));
    return [reader.emitOne("Einsum", operands, { equation: reader.string("equation", "") })];
  },
  Gemm: (reader) => {
    const c = reader.optional(2);
    return [
      reader.emitOne("Gemm", [reader.operand(0), reader.operand(1), ...(c === undefined ? [] : [c])], {
        transA: reader.int("transA", 0) !== 0,
        transB: reader.int("transB", 0) !== 0,
        alpha: reader.float("alpha", 1),
        beta: reader.float("beta", 1),
      }),
    ];
  },
};
