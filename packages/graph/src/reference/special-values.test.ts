import { describe, expect, it } from "vitest";
import { evaluateOp, floats, numbersOf } from "../../test/evaluate-op.js";
import { MpError } from "../errors.js";
import type { Op, OpAttributes } from "../graph/attributes.js";
import { REDUCE_OPS } from "../graph/families.js";
import { type HostTensor, tensor } from "../host/host-tensor.js";

const { NaN: nan, POSITIVE_INFINITY: infinity } = Number;
const run = (op: Op, inputs: readonly HostTensor[], attributes: OpAttributes[Op] = {}): readonly number[] =>
  numbersOf(evaluateOp(op, inputs, attributes)[0]);
const f32 = (...numbers: number[]): HostTensor => floats("f32", numbers);
const i32 = (...numbers: number[]): HostTensor => tensor(Int32Array.from(numbers));

describe("NaN comes through", () => {
  it.each(REDUCE_OPS)("%s, from every position, along either axis, in every dtype", (op) => {
    for (const dtype of ["f32", "f16", "bf16"] as const) {
      for (let at = 0; at < 6; at++) {
        const numbers = [1, 2, 3, 4, 5, 6].map((x, index) => (index === at ? nan : x));
        const x = floats(dtype, numbers, [2, 3]);
        expect(run(op, [x], { axes: [0, 1], keepdims: false })).toEqual([nan]);
        const rows = run(op, [x], { axes: [1], keepdims: false }).map(Number.isNaN);
        expect(rows).toEqual([at < 3, at >= 3]);
        const columns = run(op, [x], { axes: [0], keepdims: false }).map(Number.isNaN);
        expect(columns).toEqual([0, 1, 2].map((column) => at % 3 === column));
      }
    }
  });

  it.each(["Max", "Min"] as const)("%s, from either side", (op) => {
    expect(run(op, [f32(nan, 1, nan), f32(1, nan, nan)])).toEqual([nan, nan, nan]);
  });

  it.each([
    ["Relu", {}],
    ["Clip", { min: -1, max: 1 }],
    ["LeakyRelu", { alpha: 0.5 }],
    ["Elu", { alpha: 1 }],
    ["Gelu", { approximate: "none" }],
    ["Gelu", { approximate: "tanh" }],
    ["Softplus", {}],
    ["Sigmoid", {}],
    ["Tanh", {}],
    ["Erf", {}],
    ["Sign", {}],
    ["Round", {}],
    ["Abs", {}],
  ] as const)("%s #%#", (op, attributes) => {
    expect(run(op, [f32(nan)], attributes)).toEqual([nan]);
  });

  it("makes its own row of a softmax NaN and no other", () => {
    const x = floats("f32", [1, nan, 0, 0], [2, 2]);
    expect(run("Softmax", [x], { axis: 1 })).toEqual([nan, nan, 0.5, 0.5]);
    expect(run("LogSoftmax", [x], { axis: 1 }).map(Number.isNaN)).toEqual([true, true, false, false]);
  });

  it("is not taken from the side that Where leaves", () => {
    const condition = tensor(Uint8Array.of(1, 0), [2], "bool");
    expect(run("Where", [condition, f32(1, nan), f32(nan, 2)])).toEqual([1, 2]);
  });

  it("is unequal to itself and compares as false", () => {
    for (const op of ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"] as const) {
      expect(run(op, [f32(nan, nan, 1), f32(nan, 1, nan)])).toEqual([0, 0, 0]);
    }
  });

  it("spreads through zero times infinity in a matrix product", () => {
    const a = floats("f32", [0, 1], [1, 2]);
    expect(run("MatMul", [a, floats("f32", [infinity, 1], [2, 1])])).toEqual([nan]);
  });
});

describe("searches", () => {
  it("take the first of equals, and NaN as the largest", () => {
    const axis = { axis: 0, keepdims: false };
    for (let at = 0; at < 4; at++) {
      const numbers = [1, 5, 5, 2];
      numbers[at] = nan;
      expect(run("ArgMax", [f32(...numbers)], axis)).toEqual([at]);
      expect(run("ArgMin", [f32(...numbers)], axis)).toEqual([at]);
    }
    expect(run("ArgMax", [f32(nan, 1, nan)], axis)).toEqual([0]);
    expect(run("ArgMax", [i32(3, 7, 7)], axis)).toEqual([1]);
  });

  it("TopK keeps the lower index first among equals, in both directions", () => {
    const x = f32(2, 7, 2, 7, 7, 2);
    const largest = evaluateOp("TopK", [x], { axis: 0, k: 4, largest: true });
    expect(largest.map(numbersOf)).toEqual([
      [7, 7, 7, 2],
      [1, 3, 4, 0],
    ]);
    const smallest = evaluateOp("TopK", [x], { axis: 0, k: 2, largest: false });
    expect(smallest.map(numbersOf)).toEqual([
      [2, 2],
      [0, 2],
    ]);
    const withNan = evaluateOp("TopK", [f32(1, nan, 3)], { axis: 0, k: 2, largest: true });
    expect(withNan.map(numbersOf)).toEqual([
      [nan, 3],
      [1, 2],
    ]);
  });
});

describe("values at the edge", () => {
  it("pow follows C", () => {
    const x = f32(1, -1, -1, 0, 0, -8, nan);
    const y = f32(nan, infinity, -infinity, 0, -1, 1 / 3, 0);
    expect(run("Pow", [x, y])).toEqual([1, 1, 1, 1, infinity, nan, 1]);
  });

  it("rounds halves to even and keeps the sign of zero", () => {
    expect(run("Round", [f32(0.5, 1.5, -0.5, -2.5, -0, 2 ** 23 + 1)])).toEqual([
      0,
      2,
      -0,
      -2,
      -0,
      2 ** 23 + 1,
    ]);
  });

  it("log-sum-exp neither overflows nor loses infinities", () => {
    const all = { axes: [0], keepdims: false };
    expect(run("ReduceLogSumExp", [f32(1000, 1000)], all)).toEqual([Math.fround(1000 + Math.log(2))]);
    expect(run("ReduceLogSumExp", [f32(-infinity, -infinity)], all)).toEqual([-infinity]);
    expect(run("ReduceLogSumExp", [f32(infinity, 0)], all)).toEqual([infinity]);
  });

  it("f32 erf and gelu are right in the far tail", () => {
    expect(run("Gelu", [f32(-8)], { approximate: "none" })).toEqual([Math.fround(-4.976768459417428e-15)]);
    expect(run("Erf", [f32(1e-30)])).toEqual([Math.fround(Math.fround(1e-30) * 1.1283791670955126)]);
  });

  it("integers wrap", () => {
    const u8 = tensor(Uint8Array.of(200), [1]);
    expect(run("Add", [u8, u8])).toEqual([144]);
    expect(run("Add", [i32(2 ** 31 - 1), i32(1)])).toEqual([-(2 ** 31)]);
    expect(run("Mul", [i32(65537), i32(65537)])).toEqual([131073]);
    expect(run("Neg", [i32(-(2 ** 31))])).toEqual([-(2 ** 31)]);
    const u64 = tensor(BigUint64Array.of(0n), [1], "u64");
    const one = tensor(BigUint64Array.of(1n), [1], "u64");
    expect(evaluateOp("Sub", [u64, one], {})[0]?.data).toEqual(BigUint64Array.of(2n ** 64n - 1n));
    expect(run("ReduceProd", [i32(65537, 65537)], { axes: [0], keepdims: false })).toEqual([131073]);
  });

  it("bools are 0 or 1, whatever byte came in", () => {
    const x = tensor(Uint8Array.of(0, 2, 255), [3], "bool");
    expect(run("Identity", [x])).toEqual([0, 1, 1]);
    expect(run("Cast", [f32(0, -0, nan, 0.1)], { to: "bool" })).toEqual([0, 0, 1, 1]);
  });

  it("a mean over ignored labels only is NaN, their sum is 0", () => {
    const scores = floats("f32", [1, 2], [1, 2]);
    const ignored = (reduction: "mean" | "sum"): readonly number[] =>
      run("SoftmaxCrossEntropyLoss", [scores, i32(-100)], { reduction, ignoreIndex: -100 });
    expect(ignored("mean")).toEqual([nan]);
    expect(ignored("sum")).toEqual([0]);
  });

  it("the last of several updates wins where a scatter replaces", () => {
    const indices = tensor(Int32Array.of(1, 1), [2, 1]);
    expect(run("ScatterND", [f32(0, 0), indices, f32(5, 6)], { reduction: "none" })).toEqual([0, 6]);
  });
});

describe("what has no value is MP_OUT_OF_RANGE", () => {
  const x = floats("f32", [1, 2, 3, 4, 5, 6], [2, 3]);
  const at = (index: number, ...shape: number[]): HostTensor => tensor(Int32Array.of(index), shape);
  it.each<readonly [Op, readonly HostTensor[], OpAttributes[Op], string]>([
    ["Gather", [x, at(3, 1)], { axis: 1 }, "index 3 is outside axis 1 of 3"],
    ["Gather", [x, at(-3, 1)], { axis: 0 }, "index -3 is outside axis 0 of 2"],
    ["GatherElements", [x, at(2, 1, 1)], { axis: 0 }, "index 2 is outside axis 0 of 2"],
    ["GatherND", [x, at(2, 1, 1)], { batchDims: 0 }, "index 2 is outside axis 0 of 2"],
    [
      "ScatterND",
      [x, at(2, 1, 1), floats("f32", [1, 1, 1], [1, 3])],
      { reduction: "add" },
      "index 2 is outside axis 0 of 2",
    ],
    [
      "ScatterElements",
      [x, at(-4, 1, 1), floats("f32", [1], [1, 1])],
      { axis: 1, reduction: "none" },
      "index -4 is outside axis 1 of 3",
    ],
    ["SoftmaxCrossEntropyLoss", [x, tensor(Int32Array.of(0, 3))], { reduction: "mean" }, "label 3 at 1"],
    ["NegativeLogLikelihoodLoss", [x, tensor(Int32Array.of(-1, 0))], { reduction: "mean" }, "label -1 at 0"],
    ["Div", [i32(1), i32(0)], {}, "an integer divisor is 0"],
    ["Mod", [i32(1), i32(0)], { fmod: false }, "an integer divisor is 0"],
  ])("%s #%#", (op, inputs, attributes, message) => {
    let thrown: unknown;
    try {
      evaluateOp(op, inputs, attributes);
    } catch (error) {
      thrown = error;
    }
    expect(MpError.is(thrown, "MP_OUT_OF_RANGE")).toBe(true);
    expect((thrown as Error).message).toContain(message);
  });
});
