import { describe, expect, it } from "vitest";
import { gradientError, gradientSum, pointOf } from "../../test/finite-differences.js";
import { attention, lstm, modelShapes } from "../../test/model-losses.js";
import { printGraph } from "../graph/print.js";
import { tensor } from "../host/host-tensor.js";
import { add, mul } from "../trace/ops/binary.js";
import { gather, scatterElements } from "../trace/ops/indexing.js";
import { softmaxCrossEntropyLoss } from "../trace/ops/loss.js";
import { gemm, matMul } from "../trace/ops/matrix.js";
import { reduceSum } from "../trace/ops/reduce.js";
import { constant } from "../trace/ops/source.js";
import { cast, relu, tanh } from "../trace/ops/unary.js";
import { remat } from "../trace/remat.js";
import type { Tensor } from "../trace/tensor.js";
import { scope, traceInto } from "../trace/trace.js";
import { eliminateDeadCode } from "../transform/dead-code.js";
import { grad } from "./grad.js";

const f32 = (...shape: number[]) => ({ dtype: "f32" as const, shape });
type Input = readonly [
  name: string,
  type: { readonly dtype: "f32" | "f16" | "i32"; readonly shape: readonly number[] },
];

/** The backward nodes of the gradients with respect to the first `count` inputs. */
function backward(
  inputs: readonly Input[],
  loss: (...xs: readonly Tensor[]) => Tensor,
  count = inputs.length,
): string {
  const { graph } = traceInto(
    inputs.map(([name, type]) => ({ name, role: "batch" as const, type })),
    (xs) =>
      grad((wrt: readonly Tensor[], rest: readonly Tensor[]) => loss(...wrt, ...rest))(
        xs.slice(0, count),
        xs.slice(count),
      ),
  );
  return printGraph(eliminateDeadCode(graph));
}

describe("gradients as graphs", () => {
  it("a dense layer is two Gemms by flag and a ReduceSum, no Transpose", () => {
    const layer = (w: Tensor, b: Tensor, x: Tensor): Tensor =>
      reduceSum(relu(scope("dense", () => gemm(x, w, b))));
    expect(
      backward(
        [
          ["w", f32(3, 4)],
          ["b", f32(4)],
          ["x", f32(2, 3)],
        ],
        layer,
      ),
    ).toMatchInlineSnapshot(`
      "%0 = batch "w" : f32[3, 4]
      %1 = batch "b" : f32[4]
      %2 = batch "x" : f32[2, 3]
      %3:f32[2, 4] = Gemm(%2, %0, %1) {transA=false transB=false alpha=1 beta=1}  # dense
      %4:f32[2, 4] = Relu(%3)
      %5:f32[] = Constant() {value=f32[](1) literal=1}  # backward
      %6:f32[2, 4] = Expand(%5) {shape=[2,4]}  # backward
      %7:f32[] = Constant() {value=f32[](0) literal=0}  # backward
      %8:bool[2, 4] = LessOrEqual(%4, %7)  # backward
      %9:f32[2, 4] = Where(%8, %7, %6)  # backward
      %10:f32[2, 3] = Gemm(%9, %0) {transA=false transB=true alpha=1 beta=1}  # dense, backward
      %11:f32[3, 4] = Gemm(%2, %9) {transA=true transB=false alpha=1 beta=1}  # dense, backward
      %12:f32[4] = ReduceSum(%9) {axes=[0] keepdims=false}  # dense, backward
      return "0" %11
      return "1" %12
      return "2" %10
      "
    `);
  });

  it("a matrix applied to [batch, time, features] is flattened for both gradients", () => {
    expect(
      backward(
        [
          ["x", f32(2, 5, 3)],
          ["w", f32(3, 4)],
        ],
        (x, w) => reduceSum(tanh(matMul(x as Tensor, w as Tensor))),
      ),
    ).toMatchInlineSnapshot(`
      "%0 = batch "x" : f32[2, 5, 3]
      %1 = batch "w" : f32[3, 4]
      %2:f32[2, 5, 4] = MatMul(%0, %1)
      %3:f32[2, 5, 4] = Tanh(%2)
      %4:f32[] = Constant() {value=f32[](1) literal=1}  # backward
      %5:f32[2, 5, 4] = Expand(%4) {shape=[2,5,4]}  # backward
      %6:f32[2, 5, 4] = Mul(%3, %3)  # backward
      %7:f32[2, 5, 4] = Sub(%4, %6)  # backward
      %8:f32[2, 5, 4] = Mul(%5, %7)  # backward
      %9:f32[10, 4] = Reshape(%8) {shape=[10,4]}  # backward
      %10:f32[10, 3] = Gemm(%9, %1) {transA=false transB=true alpha=1 beta=1}  # backward
      %11:f32[2, 5, 3] = Reshape(%10) {shape=[2,5,3]}  # backward
      %12:f32[10, 3] = Reshape(%0) {shape=[10,3]}  # backward
      %13:f32[10, 4] = Reshape(%8) {shape=[10,4]}  # backward
      %14:f32[3, 4] = Gemm(%12, %13) {transA=true transB=false alpha=1 beta=1}  # backward
      return "0" %11
      return "1" %14
      "
    `);
  });

  it("cross entropy takes three passes over the scores: Exp, ScatterElements, Mul", () => {
    expect(
      backward(
        [
          ["s", f32(2, 3)],
          ["y", { dtype: "i32", shape: [2] }],
        ],
        (s, y) => softmaxCrossEntropyLoss(s as Tensor, y as Tensor),
        1,
      ),
    ).toMatchInlineSnapshot(`
      "%0 = batch "s" : f32[2, 3]
      %1 = batch "y" : i32[2]
      %2:f32[], %3:f32[2, 3] = SoftmaxCrossEntropyLoss(%0, %1) {reduction=mean}
      %4:f32[] = Constant() {value=f32[](1) literal=1}  # backward
      %5:f32[] = Constant() {value=f32[](2) literal=2}  # backward
      %6:f32[] = Div(%4, %5)  # backward
      %7:i32[2, 1] = Unsqueeze(%1) {axes=[1]}  # backward
      %8:f32[2, 3] = Exp(%3)  # backward
      %9:f32[] = Constant() {value=f32[](-1) literal=-1}  # backward
      %10:f32[2, 1] = Expand(%9) {shape=[2,1]}  # backward
      %11:f32[2, 3] = ScatterElements(%8, %7, %10) {axis=1 reduction=add}  # backward
      %12:f32[2, 3] = Mul(%11, %6)  # backward
      return "0" %12
      "
    `);
  });

  it("what is not asked for is not emitted, and a value used twice has its gradients added up", () => {
    expect(
      backward(
        [
          ["x", f32(2)],
          ["c", f32(2)],
        ],
        (x, c) => reduceSum(add(mul(x as Tensor, c as Tensor), tanh(x as Tensor))),
        1,
      ),
    ).toMatchInlineSnapshot(`
      "%0 = batch "x" : f32[2]
      %1 = batch "c" : f32[2]
      %2:f32[2] = Tanh(%0)
      %3:f32[] = Constant() {value=f32[](1) literal=1}  # backward
      %4:f32[2] = Expand(%3) {shape=[2]}  # backward
      %5:f32[2] = Mul(%2, %2)  # backward
      %6:f32[2] = Sub(%3, %5)  # backward
      %7:f32[2] = Mul(%4, %6)  # backward
      %8:f32[2] = Mul(%4, %1)  # backward
      %9:f32[2] = Add(%7, %8)  # backward
      return "0" %9
      "
    `);
  });

  it("a gradient has the dtype of its value: Cast's casts back", () => {
    expect(
      backward([["x", { dtype: "f16", shape: [2] }]], (x) => reduceSum(mul(cast(x as Tensor, "f32"), 3))),
    ).toMatchInlineSnapshot(`
      "%0 = batch "x" : f16[2]
      %1:f32[] = Constant() {value=f32[](3) literal=3}
      %2:f32[] = Constant() {value=f32[](1) literal=1}  # backward
      %3:f32[2] = Expand(%2) {shape=[2]}  # backward
      %4:f32[2] = Mul(%3, %1)  # backward
      %5:f16[2] = Cast(%4) {to=f16}  # backward
      return "0" %5
      "
    `);
  });

  it("an embedding's is one ScatterND into zeros", () => {
    expect(
      backward(
        [
          ["table", f32(5, 2)],
          ["ids", { dtype: "i32", shape: [3] }],
        ],
        (table, ids) => reduceSum(gather(table as Tensor, ids as Tensor)),
        1,
      ),
    ).toMatchInlineSnapshot(`
      "%0 = batch "table" : f32[5, 2]
      %1 = batch "ids" : i32[3]
      %2:f32[] = Constant() {value=f32[](1) literal=1}  # backward
      %3:f32[3, 2] = Expand(%2) {shape=[3,2]}  # backward
      %4:i32[3, 1] = Unsqueeze(%1) {axes=[1]}  # backward
      %5:f32[] = Constant() {value=f32[](0) literal=0}  # backward
      %6:f32[5, 2] = Expand(%5) {shape=[5,2]}  # backward
      %7:f32[5, 2] = ScatterND(%6, %4, %3) {reduction=add}  # backward
      return "0" %7
      "
    `);
  });

  it("refuses an op without a gradient only when a gradient flows through it, naming node, reason and line", () => {
    const scatter = (x: Tensor): Tensor =>
      scatterElements(x, constant(tensor(Int32Array.of(0))), constant(tensor(Float32Array.of(2))), {
        reduction: "mul",
      });
    expect(() =>
      backward([["x", f32(2)]], (x) => reduceSum(scope("layer", () => scatter(x as Tensor)))),
    ).toThrow(
      expect.objectContaining({
        code: "MP_NOT_DIFFERENTIABLE",
        message: expect.stringMatching(
          /^ScatterElements: .*multiplies.*node layer\/ScatterElements \(at .*gradient\.test\.ts:\d+:\d+\)$/,
        ),
        details: expect.objectContaining({
          node: "layer/ScatterElements",
          scope: "layer",
          line: expect.any(String),
        }),
      }),
    );
    expect(() =>
      backward(
        [
          ["x", f32(2)],
          ["z", f32(2)],
        ],
        (x, z) => reduceSum(add(x as Tensor, scatter(z as Tensor))),
        1,
      ),
    ).not.toThrow();
  });
});

describe("whole models", () => {
  const points = modelShapes.map((shape, index) => pointOf(shape, index));
  it.each([
    ["an LSTM", lstm],
    ["attention with dropout", attention],
    ["an LSTM, checkpointed", remat(lstm)],
    ["attention with dropout, checkpointed", remat(attention)],
  ] as const)("have the gradients of finite differences: %s", (_, loss) => {
    expect(gradientError((...weights) => loss(weights), points)).toBeLessThan(1e-7);
  });

  it("have the second derivatives of finite differences", () => {
    expect(
      gradientError(
        gradientSum((...weights) => attention(weights)),
        points,
      ),
    ).toBeLessThan(1e-6);
  });
});

describe("origins", () => {
  it("backward nodes have the scope and line of their forward node, and its name in the same graph", () => {
    const { graph } = traceInto([{ name: "x", role: "batch", type: f32(2) }], ([x]) => {
      const before = scope("layer", () => tanh(x as Tensor));
      return grad((v: Tensor) => reduceSum(scope("layer", () => tanh(v))))(before);
    });
    const names = graph.nodes.map((node) => node.name);
    const forward = graph.nodes.filter((node) => node.op === "Tanh")[1];
    const slope = graph.nodes.find((node) => node.op === "Sub");
    expect(forward?.name).toBe("layer/Tanh_1");
    expect(slope?.origin).toEqual({ ...forward?.origin, phase: "backward", forward: "layer/Tanh_1" });
    for (const node of graph.nodes) {
      if (node.origin.forward !== undefined) expect(names).toContain(node.origin.forward);
    }
  });
});
