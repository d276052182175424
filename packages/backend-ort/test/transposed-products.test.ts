/** The forms of transposed products, on small integers, whose sums are exact in f32 in any order. */
import { type Backend, type HostTensor, type Shape, type Tensor, tensor, traceInto } from "@mp/graph";
import { add, gemm, matMul, transpose } from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import { decodeModel } from "@mp/onnx";
import { lowerGraph, type Target } from "@mp/onnx-lowering";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ort } from "../src/index.js";

let backend: Backend;
beforeAll(async () => {
  backend = await ort();
});
afterAll(() => backend.dispose());

const CPU: Target = {
  device: "cpu",
  emulated: ["f16", "bf16"],
  widened: new Set(),
  blockSize: undefined,
  castsThroughDoubles: false,
};

const integers = (shape: Shape, seed: number): HostTensor =>
  tensor(
    Float32Array.from(
      { length: shape.reduce((product, size) => product * size, 1) },
      (_, place) => ((place * 7 + seed) % 11) - 5,
    ),
    shape,
  );

/** Runs it and compares with the oracle; returns the engine's nodes. */
async function nodesOf(
  shapes: readonly Shape[],
  results: (...inputs: Tensor[]) => Readonly<Record<string, Tensor>>,
): Promise<readonly string[]> {
  const declared = shapes.map((shape, index) => ({
    name: `x${index}`,
    role: "batch" as const,
    type: { dtype: "f32" as const, shape },
  }));
  const { graph } = traceInto(declared, (inputs) => results(...(inputs as Tensor[])));
  const feeds = Object.fromEntries(shapes.map((shape, index) => [`x${index}`, integers(shape, index)]));
  const executable = await backend.compile(graph);
  expect(await executable.run(feeds)).toEqual(evaluate(graph, feeds));
  await executable.dispose();
  return decodeModel(lowerGraph(graph, CPU).model)
    .graph.nodes.map(({ opType }) => opType)
    .toSorted();
}

it("AᵀB of many elements transposes the narrower operand, once for several products", async () => {
  const flags = { transA: true };
  const wide = await nodesOf(
    [
      [40, 250],
      [40, 300],
    ],
    (a, b) => ({ y: gemm(a as Tensor, b as Tensor, undefined, flags) }),
  );
  expect(wide).toEqual(["Gemm", "Transpose"]);
  const narrow = await nodesOf(
    [
      [40, 300],
      [40, 250],
    ],
    (a, b) => ({ y: gemm(a as Tensor, b as Tensor, undefined, flags) }),
  );
  expect(narrow).toEqual(["Gemm", "Transpose", "Transpose"]);
  const shared = await nodesOf(
    [
      [40, 250],
      [40, 300],
      [40, 301],
    ],
    (a, b, c) => ({
      y: gemm(a as Tensor, b as Tensor, undefined, flags),
      z: gemm(a as Tensor, c as Tensor, undefined, flags),
    }),
  );
  expect(shared).toEqual(["Gemm", "Gemm", "Transpose"]);
  const small = await nodesOf(
    [
      [40, 20],
      [40, 30],
    ],
    (a, b) => ({ y: gemm(a as Tensor, b as Tensor, undefined, flags) }),
  );
  expect(small).toEqual(["Gemm"]);
  const both = await nodesOf(
    [
      [40, 250],
      [300, 40],
    ],
    (a, b) => ({ y: gemm(a as Tensor, b as Tensor, undefined, { transA: true, transB: true }) }),
  );
  expect(both).toEqual(["Gemm"]);
});

it("batches whose matrices are transposed for products alone are left as they are", async () => {
  const swapped = (x: Tensor): Tensor => transpose(x, [0, 1, 3, 2]);
  const first = await nodesOf(
    [
      [2, 3, 5, 4],
      [2, 3, 5, 6],
    ],
    (a, b) => ({ y: matMul(swapped(a as Tensor), b as Tensor) }),
  );
  expect(first).toEqual(["FusedMatMul"]);
  const second = await nodesOf(
    [
      [2, 3, 4, 5],
      [2, 3, 6, 5],
    ],
    (a, b) => ({ y: matMul(a as Tensor, swapped(b as Tensor)) }),
  );
  expect(second).toEqual(["FusedMatMul"]);
  const both = await nodesOf(
    [
      [2, 3, 5, 4],
      [2, 3, 6, 5],
    ],
    (a, b) => ({
      y: matMul(swapped(a as Tensor), swapped(b as Tensor)),
    }),
  );
  expect(both).toEqual(["FusedMatMul"]);
  const square = await nodesOf([[3, 5, 5]], (a) => {
    const other = transpose(a as Tensor, [0, 2, 1]);
    return { y: matMul(other, other) };
  });
  expect(square).toEqual(["FusedMatMul"]);
});

it("of a Transpose that does more, what keeps rows is left", async () => {
  const made = await nodesOf(
    [
      [2, 3, 5, 4],
      [2, 7, 5, 4],
    ],
    (q, k) => ({
      y: matMul(transpose(q as Tensor, [0, 2, 1, 3]), transpose(k as Tensor, [0, 2, 3, 1])),
    }),
  );
  expect(made).toEqual(["FusedMatMul", "Transpose", "Transpose"]);
  const rolled = await nodesOf(
    [
      [4, 2, 5],
      [2, 4, 6],
    ],
    (a, b) => ({
      y: matMul(transpose(a as Tensor, [1, 2, 0]), b as Tensor),
    }),
  );
  expect(rolled).toEqual(["FusedMatMul", "Transpose"]);
});

it("others keep their Transpose: one that is read otherwise, a result, a broadcast", async () => {
  const swapped = (x: Tensor): Tensor => transpose(x, [0, 2, 1]);
  const read = await nodesOf([[2, 4, 4]], (a) => {
    const other = swapped(a as Tensor);
    return { y: add(matMul(other, a as Tensor), other) };
  });
  expect(read).toEqual(["Add", "MatMul", "Transpose"]);
  const result = await nodesOf([[2, 4, 4]], (a) => {
    const other = swapped(a as Tensor);
    return { y: matMul(other, a as Tensor), z: other };
  });
  expect(result).toEqual(["MatMul", "Transpose"]);
  const broadcast = await nodesOf(
    [
      [1, 5, 4],
      [2, 5, 6],
    ],
    (a, b) => ({ y: matMul(swapped(a as Tensor), b as Tensor) }),
  );
  expect(broadcast).toEqual(["MatMul", "Transpose"]);
});

it("a product of many columns keeps the Transpose of its first operand", async () => {
  const made = await nodesOf(
    [
      [2, 3, 4],
      [2, 3, 2048],
    ],
    (a, b) => ({ y: matMul(transpose(a as Tensor, [0, 2, 1]), b as Tensor) }),
  );
  expect(made).toEqual(["MatMul", "Transpose"]);
});
