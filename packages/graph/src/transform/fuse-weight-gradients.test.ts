import { describe, expect, it } from "vitest";
import { grad } from "../gradient/grad.js";
import type { Graph } from "../graph/graph.js";
import { printGraph } from "../graph/print.js";
import { add, mul } from "../trace/ops/binary.js";
import { gemm, matMul } from "../trace/ops/matrix.js";
import { split, squeeze, transpose } from "../trace/ops/movement.js";
import { reduceMean, reduceSum } from "../trace/ops/reduce.js";
import { tanh } from "../trace/ops/unary.js";
import { remat } from "../trace/remat.js";
import type { Tensor } from "../trace/tensor.js";
import { traceInto } from "../trace/trace.js";
import { eliminateCommonSubexpressions } from "./common-subexpressions.js";
import { foldConstants } from "./constant-folding.js";
import { eliminateDeadCode } from "./dead-code.js";
import { fuseWeightGradients } from "./fuse-weight-gradients.js";
import { peakLiveBytes } from "./liveness.js";
import { prepareGraph } from "./prepare.js";

const f32 = (...shape: number[]) => ({ dtype: "f32" as const, shape });
const clean = (graph: Graph): Graph => eliminateCommonSubexpressions(foldConstants(eliminateDeadCode(graph)));
const count = (graph: Graph, op: string): number =>
  graph.nodes.filter((node) => node.op === op && node.origin.phase === "backward").length;

const recurrenceInputs = [
  ["w", f32(3, 4)],
  ["u", f32(4, 4)],
  ["b", f32(4)],
  ["h", f32(2, 4)],
] as const;

/** h' = tanh(x·w + h·u + b) over steps of [2, 3] with the gradients of w, u and b; `penalty` uses w once more. */
function recurrence(steps: number, penalty = false): Graph {
  const inputs = [...recurrenceInputs, ["x", f32(2, steps, 3)] as const].map(([name, type]) => ({
    name,
    type,
    role: "batch" as const,
  }));
  return clean(
    traceInto(inputs, ([w, u, b, h, x]) =>
      grad(([p, q, r]: readonly Tensor[]) => {
        let state = h as Tensor;
        for (const part of split(x as Tensor, steps, 1)) {
          const input = matMul(squeeze(part, [1]), p as Tensor);
          state = tanh(add(add(input, matMul(state, q as Tensor)), r as Tensor));
        }
        const loss = reduceMean(mul(state, state));
        return penalty ? add(loss, reduceSum(mul(p as Tensor, p as Tensor))) : loss;
      })([w as Tensor, u as Tensor, b as Tensor]),
    ).graph,
  );
}

/** Σ of four products aᵢᵀ·bᵢ, each computed by the given function. */
function sumOfProducts(
  term: (a: Tensor, b: Tensor) => Tensor,
  more: (sum: Tensor, first: Tensor) => unknown,
): Graph {
  const inputs = [0, 1, 2, 3, 4, 5, 6, 7].map((index) => ({
    name: `x${index}`,
    role: "batch" as const,
    type: f32(2, index < 4 ? 3 : 5),
  }));
  return traceInto(inputs, (xs) => {
    const terms = [0, 1, 2, 3].map((index) => term(xs[index] as Tensor, xs[index + 4] as Tensor));
    return more(
      terms.reduce((sum, value) => add(sum, value)),
      terms[0] as Tensor,
    );
  }).graph;
}
const byFlag = (a: Tensor, b: Tensor): Tensor => gemm(a, b, undefined, { transA: true });

describe("weight gradients of a recurrence", () => {
  it("are one Gemm a weight and one ReduceSum for the bias, over shared concatenations", () => {
    const given = recurrence(6);
    const fused = fuseWeightGradients(given);
    // The remaining Gemms are the gradients of the states but the first; the remaining Add is x + x of the square.
    expect([count(given, "Gemm"), count(fused, "Gemm")]).toEqual([6 + 6 + 5, 1 + 1 + 5]);
    expect([count(given, "ReduceSum"), count(fused, "ReduceSum")]).toEqual([6, 1]);
    expect([count(given, "Add"), count(fused, "Add")]).toEqual([16, 1]);
    expect(count(fused, "Concat")).toBe(3);
  });

  it("stay as they are below four terms", () => {
    const given = recurrence(3);
    expect(fuseWeightGradients(given)).toBe(given);
  });

  it("join what else flows into the weight", () => {
    const fused = fuseWeightGradients(recurrence(6, true));
    expect(count(fused, "Add")).toBe(1 + 2);
    expect(count(fused, "Gemm")).toBe(7);
  });
});

describe("a weight that many blocks share", () => {
  /** Gradient of 32 blocks tanh(x·w); each group has four blocks. x is [512, 32], 64 KiB. */
  const shared = (group: typeof remat): Graph => {
    const inputs = [
      { name: "w", role: "parameter" as const, type: f32(32, 32) },
      { name: "x", role: "batch" as const, type: f32(512, 32) },
    ];
    const { graph } = traceInto(inputs, ([w, x]) =>
      grad((weight: Tensor) => {
        const four = (h: Tensor): Tensor => [0, 1, 2, 3].reduce((y) => tanh(matMul(y, weight)), h);
        const y = [0, 1, 2, 3, 4, 5, 6, 7].reduce((h) => group(four)(h), x as Tensor);
        return reduceMean(mul(y, y));
      })(w as Tensor),
    );
    return prepareGraph(graph);
  };
  const value = 512 * 32 * 4;

  it("has its gradient summed block by block, which keeps no block's operands for the last", () => {
    const graph = shared((fn) => fn);
    expect(count(graph, "Concat")).toBe(0);
    expect(peakLiveBytes(graph).bytes).toBeLessThan(37 * value);
  });

  it("leaves checkpointing what it saves", () => {
    const graph = shared(remat);
    expect(count(graph, "Concat")).toBe(0);
    expect(peakLiveBytes(graph).bytes).toBeLessThan(16 * value);
  });
});

describe("fusing sums of products", () => {
  it("writes the concatenations where the sum stood", () => {
    expect(printGraph(fuseWeightGradients(sumOfProducts(byFlag, (sum) => sum)))).toMatchInlineSnapshot(`
      "%0 = batch "x0" : f32[2, 3]
      %1 = batch "x1" : f32[2, 3]
      %2 = batch "x2" : f32[2, 3]
      %3 = batch "x3" : f32[2, 3]
      %4 = batch "x4" : f32[2, 5]
      %5 = batch "x5" : f32[2, 5]
      %6 = batch "x6" : f32[2, 5]
      %7 = batch "x7" : f32[2, 5]
      %8:f32[8, 5] = Concat(%4, %5, %6, %7) {axis=0}
      %9:f32[8, 3] = Concat(%0, %1, %2, %3) {axis=0}
      %10:f32[3, 5] = Gemm(%9, %8) {transA=true transB=false alpha=1 beta=1}
      return "result" %10
      "
    `);
  });

  it("knows the product with a Transpose", () => {
    const fused = fuseWeightGradients(
      sumOfProducts(
        (a, b) => matMul(transpose(a), b),
        (sum) => sum,
      ),
    );
    expect(fused.nodes.map(({ op }) => op)).toEqual(["Concat", "Concat", "Gemm"]);
  });

  it.each([
    ["a term that is read elsewhere too", sumOfProducts(byFlag, (sum, first) => ({ sum, first }))],
    [
      "products without a transposed left side",
      sumOfProducts(
        (a, b) => gemm(transpose(a), b),
        (sum) => sum,
      ),
    ],
    [
      "products added to something",
      sumOfProducts(
        (a, b) => gemm(a, b, reduceMean(b), { transA: true }),
        (sum) => sum,
      ),
    ],
    [
      "sums over the other axis",
      sumOfProducts(
        (a) => reduceSum(a, { axes: [1] }),
        (sum) => sum,
      ),
    ],
  ])("leaves %s", (_, graph) => {
    expect(fuseWeightGradients(graph)).toBe(graph);
  });
});
