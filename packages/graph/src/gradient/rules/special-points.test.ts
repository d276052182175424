import { describe, expect, it } from "vitest";
import { indices } from "../../../test/finite-differences.js";
import { type HostTensor, tensor } from "../../host/host-tensor.js";
import { evaluate } from "../../reference/evaluate.js";
import * as binaryOps from "../../trace/ops/binary.js";
import { softmaxCrossEntropyLoss } from "../../trace/ops/loss.js";
import * as r from "../../trace/ops/reduce.js";
import { constant } from "../../trace/ops/source.js";
import * as unaryOps from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import { traceInto } from "../../trace/trace.js";
import { grad } from "../grad.js";

/** Gradients of the sum of `fn`, each as plain numbers. All inputs are f32 vectors; the arithmetic is exact. */
function gradients(
  fn: (...xs: readonly Tensor[]) => Tensor,
  ...points: readonly (readonly number[])[]
): number[][] {
  const types = points.map((point, index) => ({
    name: `x${index}`,
    role: "batch" as const,
    type: { dtype: "f32" as const, shape: [point.length] },
  }));
  const { graph } = traceInto(types, (inputs) =>
    grad((all: readonly Tensor[]) => r.reduceSum(fn(...all)))(inputs),
  );
  const feed = Object.fromEntries(
    points.map((point, index) => [`x${index}`, tensor(Float32Array.from(point)) as HostTensor]),
  );
  return Object.values(evaluate(graph, feed)).map(({ data }) => Array.from(data as Float32Array));
}

const unary =
  (fn: (x: Tensor) => Tensor) =>
  (...point: readonly number[]): number[] | undefined =>
    gradients(fn as (...xs: readonly Tensor[]) => Tensor, point)[0];

const { NaN: nan, POSITIVE_INFINITY: infinity } = Number;

describe("at kinks, gradients are those of PyTorch", () => {
  it.each([
    ["abs at 0", unary(unaryOps.abs)(-1, 0, -0, 2), [-1, 0, 0, 1]],
    ["relu at 0", unary(unaryOps.relu)(-1, 0, 2), [0, 0, 1]],
    ["leakyRelu at 0", unary((x) => unaryOps.leakyRelu(x, 0.5))(-1, 0, 2), [0.5, 0.5, 1]],
    ["elu at 0", unary((x) => unaryOps.elu(x, 0.5))(0, 2), [0.5, 1]],
    [
      "clip at and beyond its limits",
      unary((x) => unaryOps.clip(x, { min: 0, max: 1 }))(-1, 0, 0.5, 1, 2, nan),
      [0, 1, 1, 1, 0, 0],
    ],
    ["sqrt at 0", unary(unaryOps.sqrt)(0, 4), [infinity, 0.25]],
    [
      "floor, sign, round",
      unary((x) => binaryOps.add(unaryOps.floor(x), binaryOps.add(unaryOps.sign(x), unaryOps.round(x))))(
        0.5,
        2,
      ),
      [0, 0],
    ],
    ["a comparison", unary((x) => unaryOps.cast(binaryOps.greater(x, 0), "f32"))(0.5, 2), [0, 0]],
    ["x² at 0", unary((x) => binaryOps.pow(x, 2))(0, 3), [0, 6]],
    ["x⁰ at 0", unary((x) => binaryOps.pow(x, 0))(0, 3), [0, 0]],
    ["x¹ at 0", unary((x) => binaryOps.pow(x, 1))(0, 3), [1, 1]],
    ["x³ below 0", unary((x) => binaryOps.pow(x, 3))(-2, 0), [12, 0]],
    ["the sum of magnitudes at 0", unary((x) => r.reduceL1(x))(-2, 0, 3), [-1, 0, 1]],
    ["the norm of zeros", unary((x) => r.reduceL2(x))(0, 0), [0, 0]],
    ["the norm", unary((x) => r.reduceL2(x))(3, 4), [Math.fround(0.6), Math.fround(0.8)]],
    ["equal maxima share", unary((x) => r.reduceMax(x))(3, 1, 3), [0.5, 0, 0.5]],
    [
      "equal minima share",
      unary((x) => r.reduceMin(x))(1, 1, 3, 1),
      [1 / 3, 1 / 3, 0, 1 / 3].map(Math.fround),
    ],
    ["argMax", unary((x) => binaryOps.mul(x, unaryOps.cast(r.argMax(x), "f32")))(1, 2), [1, 1]],
    ["topK among equals takes the lower index", unary((x) => r.topK(x, 2).values)(5, 5, 5), [1, 1, 0]],
    ["logSumExp of -∞ only", unary((x) => r.reduceLogSumExp(x))(-infinity, -infinity), [0, 0]],
    ["product with a zero", unary((x) => r.reduceProd(x))(2, 0, 3), [0, 6, 0]],
    ["product with two zeros", unary((x) => r.reduceProd(x))(2, 0, 0), [0, 0, 0]],
    ["softplus far out", unary(unaryOps.softplus)(-200, 200), [0, 1]],
  ] as const)("%s", (_, got, wanted) => {
    expect(got?.map((x) => x + 0)).toEqual(wanted);
  });

  it("of two operands that are equal, each gets half", () => {
    expect(gradients(binaryOps.maximum as never, [1, 2, 3], [2, 2, 2])).toEqual([
      [0, 0.5, 1],
      [1, 0.5, 0],
    ]);
    expect(gradients(binaryOps.minimum as never, [1, 2, 3], [2, 2, 2])).toEqual([
      [1, 0.5, 0],
      [0, 0.5, 1],
    ]);
  });

  it("0ᵇ has gradient 0 in b, and aᵇ with b = 0 has gradient 0 in a", () => {
    expect(gradients(binaryOps.pow as never, [0, 0, 0], [0, 1, 2])).toEqual([
      [0, 1, 0],
      [0, 0, 0],
    ]);
  });

  it("fmod follows the whole number it took away", () => {
    const [a, b] = gradients(
      ((x: Tensor, y: Tensor) => binaryOps.mod(x, y, { fmod: true })) as never,
      [7, -7, 7],
      [3, 3, -3],
    );
    expect([a, b]).toEqual([
      [1, 1, 1],
      [-2, 2, 2],
    ]);
  });
});

describe("what does not count stays out", () => {
  it("an infinite gradient behind a mask does not become NaN", () => {
    const blown = unary((x) =>
      binaryOps.mul(unaryOps.relu(x), constant(tensor(Float32Array.of(infinity, infinity)))),
    );
    expect(blown(-1, 1)).toEqual([0, infinity]);
  });

  it("only ignored labels: loss NaN as in ONNX, gradient 0 as in PyTorch", () => {
    const { graph } = traceInto(
      [{ name: "x", role: "batch", type: { dtype: "f32", shape: [2, 3] } }],
      ([x]) => {
        const loss = (scores: Tensor): Tensor =>
          softmaxCrossEntropyLoss(scores, indices([1, 1]), { ignoreIndex: 1 });
        return { gradient: grad(loss)(x as Tensor), loss: loss(x as Tensor) };
      },
    );
    const { gradient, loss } = evaluate(graph, { x: tensor(Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]) });
    expect(Array.from(gradient?.data as Float32Array, (x) => x + 0)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(loss?.data[0]).toBeNaN();
  });

  it("in f16 neither 1/x nor a division overflows on the way", () => {
    const { graph } = traceInto([{ name: "x", role: "batch", type: { dtype: "f16", shape: [] } }], ([x]) =>
      grad((v: Tensor) =>
        binaryOps.mul(binaryOps.add(unaryOps.reciprocal(v), binaryOps.div(1, v)), 2 ** -10),
      )(x as Tensor),
    );
    const { result } = evaluate(graph, { x: tensor(Uint16Array.of(0x1800), [], "f16") });
    // x = 2^-9, so each term's gradient is -2^18 · 2^-10 though 2^18 is beyond f16.
    expect(result?.data[0]).toBe(0xe000);
  });
});
