import type { OpOf } from "@mp/graph";
import { same } from "./node/composition.js";
import type { ReaderTable } from "./node/node-reader.js";

export const matrixReaders: ReaderTable<OpOf<"matrix">> = {
  MatMul: same("MatMul", 2),
  Einsum: (reader) => [
    reader.emitOne("Einsum", reader.operands(), { equation: reader.string("equation", "") }),
  ],
  Gemm: (reader) => {
    const attributes = {
      transA: reader.int("transA", 0) !== 0,
      transB: reader.int("transB", 0) !== 0,
      alpha: reader.float("alpha", 1),
      beta: reader.float("beta", 1),
    };
    // Reads C before A and B, because parameters are inputs in the order in which they are read.
    const c = reader.optional(2);
    return reader.emit("Gemm", [...reader.operands(2), ...(c === undefined ? [] : [c])], attributes);
  },
};
