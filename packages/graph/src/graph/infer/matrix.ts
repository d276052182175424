import { broadcastShapes, formatShape } from "../../shape.js";
import { readContraction } from "../einsum-equation.js";
import type { OpOf } from "../families.js";
import { expectDType, expectSameDType, firstOperand, type InferTable, operands, shapeError } from "./rule.js";

export const matrixInfer: InferTable<OpOf<"matrix">> = {
  MatMul: (inputs) => {
    const [a, b] = operands("MatMul", inputs, 2);
    expectDType("MatMul", a);
    expectSameDType("MatMul", inputs);
    if (a.shape.length === 0 || b.shape.length === 0) throw shapeError("MatMul", "takes no scalars, use mul");
    const left = a.shape.length === 1 ? [1, ...a.shape] : a.shape;
    const right = b.shape.length === 1 ? [...b.shape, 1] : b.shape;
    const [m, k] = left.slice(-2) as [number, number];
    const [inner, n] = right.slice(-2) as [number, number];
    if (k !== inner) {
      throw shapeError("MatMul", `inner sizes differ, ${formatShape(a.shape)} by ${formatShape(b.shape)}`);
    }
    const batch = broadcastShapes(left.slice(0, -2), right.slice(0, -2), "MatMul");
    return [
      {
        dtype: a.dtype,
        shape: [...batch, ...(a.shape.length === 1 ? [] : [m]), ...(b.shape.length === 1 ? [] : [n])],
      },
    ];
  },
  Gemm: (inputs, { transA, transB }) => {
    const [a, b] = operands("Gemm", inputs, 2, 3);
    expectDType("Gemm", a);
    expectSameDType("Gemm", inputs);
    if (a.shape.length !== 2 || b.shape.length !== 2) {
      throw shapeError("Gemm", `takes matrices, got ${formatShape(a.shape)} and ${formatShape(b.shape)}`);
    }
    const [m, k] = (transA ? [...a.shape].reverse() : a.shape) as [number, number];
    const [inner, n] = (transB ? [...b.shape].reverse() : b.shape) as [number, number];
    if (k !== inner) {
      throw shapeError(
        "Gemm",
        `inner sizes differ, ${formatShape(a.shape)}${transA ? "ᵀ" : ""} by ${formatShape(b.shape)}${transB ? "ᵀ" : ""}`,
      );
    }
    const c = inputs[2];
    if (c !== undefined && formatShape(broadcastShapes([m, n], c.shape, "Gemm")) !== formatShape([m, n])) {
      throw shapeError("Gemm", `C of ${formatShape(c.shape)} does not broadcast to ${formatShape([m, n])}`);
    }
    return [{ dtype: a.dtype, shape: [m, n] }];
  },
  Einsum: (inputs, { equation }) => {
    const { dtype } = firstOperand("Einsum", inputs);
    for (const input of inputs) expectDType("Einsum", input);
    expectSameDType("Einsum", inputs);
    const { output, sizes } = readContraction(
      equation,
      inputs.map(({ shape }) => shape),
    );
    return [{ dtype, shape: [...output].map((label) => sizes.get(label) as number) }];
  },
};
