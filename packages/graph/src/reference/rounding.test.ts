// Hand-picked bits: where half dtypes round, and what they accumulate in.
import { describe, expect, it } from "vitest";
import { evaluateOp, floats, numbersOf } from "../../test/evaluate-op.js";
import type { FloatDType } from "../dtype.js";
import type { Op, OpAttributes } from "../graph/attributes.js";
import { GraphBuilder } from "../graph/build/builder.js";
import { type HostTensor, tensor } from "../host/host-tensor.js";
import { evaluate, evaluateRaw } from "./evaluate.js";

const ALL = { axes: [0], keepdims: false };
const one = (op: Op, inputs: readonly HostTensor[], attributes: OpAttributes[Op] = {}): number =>
  numbersOf(evaluateOp(op, inputs, attributes)[0])[0] as number;
const f16 = (...numbers: number[]): HostTensor => floats("f16", numbers);
const bf16 = (...numbers: number[]): HostTensor => floats("bf16", numbers);
const f32 = (...numbers: number[]): HostTensor => floats("f32", numbers);

describe("elementwise ops on halves round once, ties to even", () => {
  it.each([
    ["Add", f16(2048), f16(1), 2048],
    ["Add", f16(2050), f16(1), 2052],
    ["Add", f16(2048), f16(1.5), 2050],
    ["Add", bf16(256), bf16(1), 256],
    ["Add", bf16(258), bf16(1), 260],
    ["Sub", f16(65504), f16(-15.99), 65504],
    ["Add", f16(65504), f16(16), Number.POSITIVE_INFINITY],
    ["Mul", f16(256), f16(256), Number.POSITIVE_INFINITY],
    ["Mul", f16(2 ** -14), f16(2 ** -10), 2 ** -24],
    ["Mul", f16(2 ** -14), f16(2 ** -11), 0],
    ["Mul", f16(3 * 2 ** -14), f16(2 ** -11), 2 ** -23],
    ["Div", f16(1), f16(3), 1365 / 4096],
    ["Div", bf16(1), bf16(3), 171 / 512],
  ] as const)("%s #%#", (op, a, b, want) => {
    expect(one(op, [a, b])).toBe(want);
  });

  it.each([
    ["f16", 2048, 0],
    ["f16", 1024, 1],
    ["bf16", 256, 0],
    ["bf16", 128, 1],
    ["f32", 2 ** 24, 0],
  ] as const)("in %s, %d + 1 - it is %d inside one graph", (dtype, x, want) => {
    const builder = new GraphBuilder();
    const value = builder.input("x", { dtype, shape: [] }, "batch");
    const sum = builder.emitOne("Add", [value, builder.literal(1, dtype)], {});
    const graph = builder.finish({ rest: builder.emitOne("Sub", [sum, value], {}) });
    expect(numbersOf(evaluate(graph, { x: floats(dtype, [x], []) })["rest"])).toEqual([want]);
  });

  it("keeps the sign of a zero that underflows", () => {
    const [product] = evaluateOp("Mul", [f16(-(2 ** -14)), f16(2 ** -14)], {});
    expect(product?.data[0]).toBe(0x8000);
  });

  it("rounds literal attributes to the precision that the op computes in", () => {
    expect(one("LeakyRelu", [f32(-1)], { alpha: 0.1 })).toBe(-Math.fround(0.1));
    expect(one("Clip", [f16(9)], { min: 0, max: 2.0005 })).toBe(2);
  });
});

describe("sums of halves accumulate in f32 and round at the end", () => {
  const ones = (dtype: FloatDType, count: number): HostTensor =>
    floats(dtype, new Array<number>(count).fill(1));

  it("70000 ones in f16 overflow only as the result is rounded", () => {
    expect(one("ReduceSum", [ones("f16", 70000)], ALL)).toBe(Number.POSITIVE_INFINITY);
    expect(one("ReduceMean", [ones("f16", 70000)], ALL)).toBe(1);
  });

  it("4096 ones give 4096 where an f16 accumulator would stall at 2048, a bf16 one at 256", () => {
    expect(one("ReduceSum", [ones("f16", 4096)], ALL)).toBe(4096);
    expect(one("ReduceSum", [ones("bf16", 4096)], ALL)).toBe(4096);
  });

  it("an f32 sum stalls where f32 does", () => {
    expect(one("ReduceSum", [f32(2 ** 24, 1, 1)], ALL)).toBe(2 ** 24);
    expect(one("ReduceSum", [f32(1, 1, 2 ** 24)], ALL)).toBe(2 ** 24 + 2);
  });

  it("squares inside ReduceL2 do not overflow f16", () => {
    expect(one("ReduceL2", [f16(300, 400)], ALL)).toBe(500);
    expect(one("ReduceSumSquare", [f16(300, 400)], ALL)).toBe(Number.POSITIVE_INFINITY);
  });

  it("products and terms of MatMul and Gemm", () => {
    const row = floats("f16", [2048, 1, -2048], [1, 3]);
    const column = floats("f16", [1, 1, 1], [3, 1]);
    expect(one("MatMul", [row, column])).toBe(1);
    const gemm = { transA: false, transB: false, alpha: 1, beta: 1 };
    expect(one("Gemm", [row, column, f16(2048)], gemm)).toBe(2048);
    expect(one("Gemm", [row, column, f16(2049 - 2 ** 12)], gemm)).toBe(-2048 + 2);
    const big = floats("f16", [60000, 60000, -60000], [1, 3]);
    expect(one("MatMul", [big, column])).toBe(60000);
  });

  it("f32 matrix products round each sum, terms in order", () => {
    const row = floats("f32", [2 ** 24, 1, 1, 1, -(2 ** 24)], [1, 5]);
    expect(one("MatMul", [row, floats("f32", [1, 1, 1, 1, 1], [5, 1])])).toBe(0);
    const reversed = floats("f32", [1, 1, 1, 2 ** 24, -(2 ** 24)], [1, 5]);
    expect(one("MatMul", [reversed, floats("f32", [1, 1, 1, 1, 1], [5, 1])])).toBe(4);
  });

  it("running sums carry f32 from place to place", () => {
    const sums = evaluateOp("CumSum", [f16(2048, 1, 1, 1)], { axis: 0, exclusive: false, reverse: false })[0];
    expect(numbersOf(sums)).toEqual([2048, 2048, 2050, 2052]);
  });

  it("scatters add in f32", () => {
    const indices = tensor(Int32Array.of(0, 0, 0, 0), [4, 1]);
    const [sum] = evaluateOp("ScatterND", [f16(2048), indices, f16(1, 1, 1, 1)], { reduction: "add" });
    expect(numbersOf(sum)).toEqual([2052]);
    const elements = tensor(Int32Array.of(0, 0, 0, 0));
    const attributes = { axis: 0, reduction: "add" } as const;
    expect(one("ScatterElements", [f16(2048), elements, f16(1, 1, 1, 1)], attributes)).toBe(2052);
  });
});

describe("normalizations compute in f32 inside", () => {
  it("softmax of f16 sums 4096 equal terms", () => {
    const x = floats("f16", new Array<number>(4096).fill(3));
    expect(one("Softmax", [x], { axis: 0 })).toBe(2 ** -12);
    expect(one("LogSoftmax", [x], { axis: 0 })).toBe(-8.3203125);
  });

  it("the loss is rounded once, not summed up from rounded log-probabilities", () => {
    const scores = floats("bf16", [0, 0, 0, 0, 0, 0], [2, 3]);
    const labels = tensor(Int32Array.of(0, 1));
    const [loss] = evaluateOp("SoftmaxCrossEntropyLoss", [scores, labels], { reduction: "sum" });
    expect(numbersOf(loss)).toEqual([2.203125]);
    expect(Math.abs(2.203125 - 2 * Math.log(3))).toBeLessThan(0.007);
  });

  it("layer norm of f16 whose squares overflow f16; statistics come out in f32", () => {
    const x = floats("f16", [-3000, 3000], [1, 2]);
    const [y, mean, inverse] = evaluateOp("LayerNormalization", [x, f16(1, 1)], { axis: 1, epsilon: 1e-5 });
    expect(numbersOf(y)).toEqual([-1, 1]);
    expect([mean?.dtype, inverse?.dtype]).toEqual(["f32", "f32"]);
    expect(numbersOf(mean)).toEqual([0]);
    expect(numbersOf(inverse)).toEqual([Math.fround(1 / 3000)]);
    expect(numbersOf(evaluateOp("RMSNormalization", [x, f16(1, 1)], { axis: 1, epsilon: 1e-5 })[0])).toEqual([
      -1, 1,
    ]);
  });
});

describe("casts", () => {
  it.each([
    ["f16", 65519.99, 65504],
    ["f16", 65520, Number.POSITIVE_INFINITY],
    ["f16", 2 ** -25, 0],
    ["f16", 1.0001 * 2 ** -25, 2 ** -24],
    ["bf16", 1 + 2 ** -8, 1],
    ["bf16", 1 + 3 * 2 ** -8, 1 + 2 ** -6],
    ["f8e4m3", 464, 448],
    ["f8e4m3", 465, Number.NaN],
    ["f8e5m2", 61440, Number.POSITIVE_INFINITY],
  ] as const)("f32 to %s: %d", (to, x, want) => {
    expect(one("Cast", [f32(x)], { to })).toBe(want);
  });

  it("integers round once, also beyond 2^53", () => {
    const tie = (1n << 60n) + (1n << 36n);
    const x = tensor(BigInt64Array.of(tie, tie + 1n, -tie - 1n, (1n << 24n) + 1n));
    expect(numbersOf(evaluateOp("Cast", [x], { to: "f32" })[0])).toEqual([
      2 ** 60,
      2 ** 60 + 2 ** 37,
      -(2 ** 60) - 2 ** 37,
      2 ** 24,
    ]);
    expect(one("Cast", [tensor(Int32Array.of(2 ** 30 + 2 ** 22 + 1))], { to: "bf16" })).toBe(
      2 ** 30 + 2 ** 23,
    );
  });

  it("goes from f8 to f32 and back without loss", () => {
    const bits = Uint8Array.from({ length: 127 }, (_, index) => index);
    const x = tensor(bits, [127], "f8e4m3");
    const [wide] = evaluateOp("Cast", [x], { to: "f32" });
    expect(evaluateOp("Cast", [wide as HostTensor], { to: "f8e4m3" })[0]?.data).toEqual(bits);
  });
});

describe("f64 arithmetic", () => {
  it("rounds neither casts nor literals nor f16 operands", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", { dtype: "f32", shape: [] }, "batch");
    const half = builder.emitOne("Cast", [x], { to: "f16" });
    const sum = builder.emitOne("Add", [half, builder.literal(0.1, "f16")], {});
    const graph = builder.finish({ sum });
    const raw = { dtype: "f32", shape: [], data: Float64Array.of(1 + 2 ** -40) } as const;
    const { sum: got } = evaluateRaw(graph, { x: raw }, { arithmetic: "f64" });
    expect(got?.data[0]).toBe(1 + 2 ** -40 + 0.1);
    expect(numbersOf(evaluate(graph, { x: floats("f32", [1], []) })["sum"])[0]).toBe(1.099609375);
  });
});
