import { describe, expect, it } from "vitest";
import { graphOfOp } from "../../test/evaluate-op.js";
import type { DType } from "../dtype.js";
import { roundTo } from "../float-format/round.js";
import type { Graph } from "../graph/graph.js";
import { evaluateRaw, type RawTensor } from "../reference/evaluate.js";
import { elementCount, type Shape } from "../shape.js";
import { expandEinsums } from "./expand-einsum.js";

const CASES: readonly (readonly [equation: string, ...shapes: Shape[]])[] = [
  ["ij,jk->ik", [2, 3], [3, 4]],
  ["ij,jk->ki", [2, 3], [3, 4]],
  ["ji,kj->ik", [3, 2], [4, 3]],
  ["ji,kj->ki", [3, 2], [4, 3]],
  ["bij,bjk->bik", [2, 3, 4], [2, 4, 5]],
  ["ijb,kbj->bki", [3, 4, 2], [5, 2, 4]],
  ["bqhd,bkhd->bhqk", [2, 3, 2, 4], [2, 5, 2, 4]],
  ["i,i->", [5], [5]],
  ["i,j->ij", [3], [4]],
  ["i,j->ji", [3], [4]],
  ["ij,ij->ij", [3, 4], [3, 4]],
  ["ij,ij->ji", [3, 4], [3, 4]],
  ["ij,j->ij", [3, 4], [4]],
  ["ij->ji", [3, 4]],
  ["ij->ij", [3, 4]],
  ["ij->", [3, 4]],
  ["ij->j", [3, 4]],
  ["ii->", [3, 3]],
  ["ii->i", [3, 3]],
  ["iii->i", [3, 3, 3]],
  ["ijij->ij", [2, 3, 2, 3]],
  ["ijji->j", [2, 3, 3, 2]],
  ["ii,ij->j", [3, 3], [3, 2]],
  ["ij,kl->", [2, 3], [4, 2]],
  ["ij,kl->ik", [2, 3], [4, 2]],
  ["ij,jk,kl->il", [2, 3], [3, 4], [4, 5]],
  ["ij,ik,il->jkl", [2, 3], [2, 4], [2, 5]],
  ["a,b,c,d->dbca", [2], [3], [2], [2]],
  ["i,i,i->i", [4], [4], [4]],
  ["...ij,...jk->...ik", [5, 1, 2, 3], [1, 3, 3, 4]],
  ["...ij,...jk->...ik", [1, 2, 3], [1, 3, 4]],
  ["i...,...->...i", [2, 3], [1]],
  ["...ii->...i", [2, 3, 3]],
  [",->", [], []],
  [",ij->ji", [], [2, 3]],
  ["->", []],
  ["ij,jk->ik", [2, 0], [0, 4]],
  ["ij,jk->ik", [0, 3], [3, 4]],
  ["ii->i", [0, 0]],
  ["ii->", [0, 0]],
  ["ij->j", [0, 3]],
  ["ij,ij->i", [1, 1], [1, 1]],
];

function inputsOf(graph: Graph): Record<string, RawTensor> {
  return Object.fromEntries(
    graph.inputs.map(({ name, value: { dtype, shape } }, input) => {
      const numbers = Array.from(
        { length: elementCount(shape, "test") },
        (_, at) => ((at * 7 + 3 * input) % 9) - 4,
      );
      const data =
        dtype === "i64"
          ? BigInt64Array.from(numbers, BigInt)
          : dtype === "i32"
            ? Int32Array.from(numbers)
            : Float32Array.from(numbers);
      return [name, { dtype, shape, data } as RawTensor];
    }),
  );
}

describe.each(CASES.map(([equation, ...shapes]) => ({ equation, shapes })))(
  "$equation",
  ({ equation, shapes }) => {
    it.each(["f32", "f16", "i32", "i64"] as const)("in %s is what the definition says", (dtype: DType) => {
      const graph = graphOfOp(
        "Einsum",
        shapes.map((shape) => ({ dtype, shape })),
        { equation },
      );
      const expanded = expandEinsums(graph);
      expect(expanded.nodes.some(({ op }) => op === "Einsum")).toBe(false);
      const inputs = inputsOf(graph);
      // The sign of a zero is unspecified.
      const data = (given: Graph) =>
        Array.from<number | bigint, number>(
          evaluateRaw(given, inputs)["y0"]?.data ?? [],
          (x) => Number(x) + 0,
        );
      expect(data(expanded)).toEqual(data(graph));
    });
  },
);

describe("expandEinsums", () => {
  const einsum = (equation: string, dtype: DType, ...shapes: readonly Shape[]): Graph =>
    graphOfOp(
      "Einsum",
      shapes.map((shape) => ({ dtype, shape })),
      { equation },
    );
  const ops = (graph: Graph) => expandEinsums(graph).nodes.map(({ op }) => op);

  it("makes one Gemm of a product of matrices in any order", () => {
    for (const equation of ["ij,jk->ik", "ji,jk->ik", "ij,kj->ik", "ji,kj->ik", "kj,ji->ik", "jk,ij->ik"]) {
      expect(ops(einsum(equation, "f32", [3, 3], [3, 3]))).toEqual(["Gemm"]);
    }
    expect(ops(einsum("bij,bjk->bik", "f32", [2, 3, 3], [2, 3, 3]))).toEqual(["MatMul"]);
  });

  it("keeps a half that is rounded once, and computes several steps in f32", () => {
    expect(ops(einsum("ij,jk->ik", "f16", [3, 3], [3, 3]))).toEqual(["Gemm"]);
    const several = ops(einsum("ij,jk,kl->il", "f16", [3, 3], [3, 3], [3, 3]));
    expect(several).toEqual(["Cast", "Cast", "Cast", "Gemm", "Gemm", "Cast"]);
  });

  it("rounds halves as the definition does", () => {
    const graph = einsum("ij,jk,kl->il", "f16", [1, 2], [2, 2], [2, 1]);
    const half = (...numbers: readonly number[]) => Float32Array.from(numbers, (x) => roundTo("f16", x));
    const inputs = {
      x0: { dtype: "f16", shape: [1, 2], data: half(1.001, 2.003) },
      x1: { dtype: "f16", shape: [2, 2], data: half(1.1, 1.2, 1.3, 1.4) },
      x2: { dtype: "f16", shape: [2, 1], data: half(0.7, -0.6) },
    } as const;
    const of = (given: Graph) => evaluateRaw(given, inputs)["y0"]?.data;
    expect(of(expandEinsums(graph))).toEqual(of(graph));
  });

  it("expands in bodies of loops", () => {
    const body = einsum("i,ij->j", "f32", [3], [3, 3]);
    const loop = graphOfOp(
      "Scan",
      [
        { dtype: "f32", shape: [3] },
        { dtype: "f32", shape: [3, 3] },
      ],
      {
        body,
        carries: 1,
        sequences: 0,
        length: 4,
        reverse: false,
        saved: 0,
      },
    );
    const [node] = expandEinsums(loop).nodes;
    const inner = node?.op === "Scan" ? node.attributes.body.nodes.map(({ op }) => op) : [];
    expect(inner).not.toContain("Einsum");
    expect(inner).toContain("Gemm");
    expect(expandEinsums(loop, () => false)).toBe(loop);
  });

  it("leaves other nodes and unchosen ones alone", () => {
    const graph = einsum("ij,jk->ik", "f32", [3, 3], [3, 3]);
    expect(expandEinsums(graph, () => false)).toBe(graph);
  });
});
