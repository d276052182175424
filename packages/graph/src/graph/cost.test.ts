import { describe, expect, it } from "vitest";
import type { DType } from "../dtype.js";
import { GraphBuilder } from "./build/builder.js";
import { graphCost, opCost } from "./cost.js";
import type { ValueType } from "./graph.js";
import { inferTypes } from "./infer/infer.js";

const type = (dtype: DType, ...shape: number[]): ValueType => ({ dtype, shape });

describe("opCost", () => {
  it("a matrix product is 2mnk operations, whatever the layout", () => {
    const a = type("f16", 3, 5);
    const b = type("f16", 5, 7);
    expect(opCost("MatMul", [a, b], [type("f16", 3, 7)], {})).toEqual({
      flops: 2 * 3 * 5 * 7,
      bytes: 2 * (15 + 35 + 21),
    });
    const batch = [type("f32", 4, 3, 5), type("f32", 5, 7)];
    expect(opCost("MatMul", batch, [type("f32", 4, 3, 7)], {}).flops).toBe(4 * 2 * 3 * 5 * 7);
    const vectors = [type("f32", 5), type("f32", 5)];
    expect(opCost("MatMul", vectors, [type("f32")], {}).flops).toBe(10);
    const gemm = { transA: true, transB: true, alpha: 1, beta: 1 };
    const operands = [type("f32", 5, 3), type("f32", 7, 5), type("f32", 7)];
    expect(opCost("Gemm", operands, inferTypes("Gemm", operands, gemm), gemm).flops).toBe(21 * (10 + 1));
    expect(opCost("Gemm", operands, [type("f32", 3, 7)], { ...gemm, alpha: 2, beta: 2 }).flops).toBe(
      21 * (10 + 1 + 2),
    );
  });

  it("attention is its two products and its softmax, with what a mask and a softcap add", () => {
    const [query, key, value] = [type("f16", 2, 6, 3, 4), type("f16", 2, 2, 5, 4), type("f16", 2, 2, 5, 7)];
    const attributes = { scale: 1, isCausal: true, softcap: 0 };
    const scores = 2 * 6 * 3 * 5;
    const cost = (given: readonly ValueType[], softcap = 0) =>
      opCost("Attention", given, inferTypes("Attention", given, attributes), { ...attributes, softcap });
    const operands = [query, key, value];
    expect(cost(operands)).toEqual({
      flops: scores * (2 * 4 + 2 * 7 + 5),
      bytes: 2 * (144 + 80 + 140 + 252),
    });
    expect(cost([...operands, type("bool", 3, 5)], 2).flops).toBe(scores * (2 * 4 + 2 * 7 + 9));
  });

  it("a convolution is 2 operations a result and tap, in whichever direction", () => {
    const window = { strides: [2], pads: [1, 1], dilations: [1], group: 2 };
    const [x, w, b] = [type("f32", 5, 4, 7), type("f32", 6, 2, 3), type("f32", 6)];
    const y = inferTypes("Conv", [x, w], window);
    const products = 2 * (5 * 6 * 4) * (2 * 3);
    expect(opCost("Conv", [x, w], y, window)).toEqual({ flops: products, bytes: 4 * (140 + 36 + 120) });
    expect(opCost("Conv", [x, w, b], y, window).flops).toBe(products + 120);
    const transposed = { ...window, outputPadding: [0] };
    expect(opCost("ConvTranspose", [...y, w], [x], transposed).flops).toBe(products);
    const gradient = { ...window, kernelShape: [3] };
    expect(opCost("ConvWeightGradient", [x, ...y], [w], gradient).flops).toBe(products);
  });

  it("elementwise ops count results, reductions operands, views nothing", () => {
    expect(opCost("Add", [type("f32", 4, 1), type("f32", 3)], [type("f32", 4, 3)], {})).toEqual({
      flops: 12,
      bytes: 4 * (4 + 3 + 12),
    });
    const axes = { axes: [0], keepdims: false };
    expect(opCost("ReduceSum", [type("bf16", 8, 2)], [type("bf16", 2)], axes)).toEqual({
      flops: 16,
      bytes: 36,
    });
    expect(opCost("Reshape", [type("f32", 8)], [type("f32", 4, 2)], { shape: [4, 2] })).toEqual({
      flops: 0,
      bytes: 0,
    });
    expect(opCost("Cast", [type("f32", 8)], [type("f16", 8)], { to: "f16" })).toEqual({
      flops: 0,
      bytes: 48,
    });
  });

  it("an embedding look-up reads the rows it takes", () => {
    const cost = opCost("Gather", [type("f32", 10000, 8), type("i32", 4)], [type("f32", 4, 8)], { axis: 0 });
    expect(cost).toEqual({ flops: 0, bytes: 2 * 4 * 32 + 16 });
  });
});

describe("graphCost", () => {
  it("sums by phase and by op", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", type("f32", 2, 3), "batch");
    const w = builder.input("w", type("f32", 3, 4), "parameter");
    const y = builder.emitOne("MatMul", [x, w], {});
    builder.origin = { scope: "", phase: "backward" };
    const dy = builder.emitOne("Mul", [y, y], {});
    const dx = builder.emitOne("Mul", [dy, dy], {});
    const cost = graphCost(builder.finish({ dx }));
    const product = { flops: 48, bytes: 4 * (6 + 12 + 8) };
    const multiplications = { flops: 16, bytes: 2 * 4 * 24 };
    expect(cost).toEqual({
      flops: 64,
      bytes: product.bytes + multiplications.bytes,
      byPhase: { forward: product, backward: multiplications },
      byOp: { MatMul: { ...product, count: 1 }, Mul: { ...multiplications, count: 2 } },
    });
  });
});
