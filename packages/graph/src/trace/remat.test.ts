import { describe, expect, it } from "vitest";
import { grad } from "../gradient/grad.js";
import type { Graph } from "../graph/graph.js";
import { printGraph } from "../graph/print.js";
import { tensor } from "../host/host-tensor.js";
import { evaluate } from "../reference/evaluate.js";
import { eliminateCommonSubexpressions } from "../transform/common-subexpressions.js";
import { eliminateDeadCode } from "../transform/dead-code.js";
import { mul } from "./ops/binary.js";
import { matMul } from "./ops/matrix.js";
import { expand } from "./ops/movement.js";
import { reduceSum } from "./ops/reduce.js";
import { literal } from "./ops/source.js";
import { cast, exp, sin, tanh } from "./ops/unary.js";
import { key, randomBernoulli } from "./random/random.js";
import { remat } from "./remat.js";
import type { Tensor } from "./tensor.js";
import { scope, traceInto } from "./trace.js";

const clean = (graph: Graph): Graph => eliminateCommonSubexpressions(eliminateDeadCode(graph));
const trace = (loss: (x: Tensor, w: Tensor) => Tensor): Graph =>
  clean(
    traceInto(
      [
        { name: "x", role: "batch", type: { dtype: "f32", shape: [2, 2] } },
        { name: "w", role: "parameter", type: { dtype: "f32", shape: [2, 2] } },
      ],
      ([x, w]) =>
        grad(([a, b]: readonly Tensor[]) => loss(a as Tensor, b as Tensor))([x as Tensor, w as Tensor]),
    ).graph,
  );
const feed = {
  x: tensor(Float32Array.of(1, -2, 0.5, 3), [2, 2]),
  w: tensor(Float32Array.of(0.1, 0.4, -0.3, 0.2), [2, 2]),
};

/** Values that the forward pass of a segment computes and backward nodes read; there should be none. */
function kept(graph: Graph): readonly string[] {
  const inside = new Map(
    graph.nodes
      .filter((node) => node.origin.segment !== undefined && node.inputs.length > 0)
      .flatMap((node) => node.outputs.map((output) => [output, node] as const)),
  );
  const read = graph.nodes
    .filter((node) => node.origin.phase === "backward" && node.op !== "Barrier")
    .flatMap((node) => node.inputs.flatMap((input) => inside.get(input)?.name ?? []));
  return [...new Set(read)];
}

const dropout = (x: Tensor): Tensor => mul(x, cast(randomBernoulli(key(1), 0.5, [2, 2]), "f32"));
const block = (x: Tensor, w: Tensor): Tensor => scope("block", () => tanh(dropout(matMul(sin(x), w))));

describe("checkpoint", () => {
  it("recomputes the segment from its inputs behind barriers that wait for the incoming gradient", () => {
    expect(
      printGraph(trace((x, w) => reduceSum(remat((v: Tensor) => tanh(matMul(sin(v), w)))(x)))),
    ).toMatchInlineSnapshot(`
      "%0 = batch "x" : f32[2, 2]
      %1 = parameter "w" : f32[2, 2]
      %2:f32[] = Constant() {value=f32[](1) literal=1}  # backward
      %3:f32[2, 2] = Expand(%2) {shape=[2,2]}  # backward
      %4:f32[2, 2] = Barrier(%1, %3)  # backward
      %5:f32[2, 2] = Barrier(%0, %3)  # backward
      %6:f32[2, 2] = Sin(%5)  # backward
      %7:f32[2, 2] = MatMul(%6, %4)  # backward
      %8:f32[2, 2] = Tanh(%7)  # backward
      %9:f32[2, 2] = Mul(%8, %8)  # backward
      %10:f32[2, 2] = Sub(%2, %9)  # backward
      %11:f32[2, 2] = Mul(%3, %10)  # backward
      %12:f32[2, 2] = Gemm(%11, %1) {transA=false transB=true alpha=1 beta=1}  # backward
      %13:f32[2, 2] = Gemm(%6, %11) {transA=true transB=false alpha=1 beta=1}  # backward
      %14:f32[2, 2] = Cos(%0)  # backward
      %15:f32[2, 2] = Mul(%12, %14)  # backward
      return "0" %15
      return "1" %13
      "
    `);
  });

  it("gives the gradients of the function without it, bit for bit, the same random draws included", () => {
    const plain = evaluate(
      trace((x, w) => reduceSum(exp(block(block(x, w), w)))),
      feed,
    );
    const step = remat(block);
    const graph = trace((x, w) => reduceSum(exp(step(step(x, w), w))));
    expect(evaluate(graph, feed)).toEqual(plain);
    // The first segment's output is the second one's input.
    expect(kept(graph)).toEqual(["block/Tanh"]);
    expect(graph.nodes.filter((node) => node.op === "RandomBits").length).toBe(4);
    for (const node of graph.nodes) {
      if (node.op === "Barrier") expect(node.origin).toMatchObject({ phase: "backward", scope: "block" });
    }
  });

  it("keeps the masks and nothing else where they are not to be drawn again", () => {
    const plain = evaluate(
      trace((x, w) => reduceSum(exp(block(block(x, w), w)))),
      feed,
    );
    const step = remat(block, { masks: "keep" });
    const graph = trace((x, w) => reduceSum(exp(step(step(x, w), w))));
    expect(evaluate(graph, feed)).toEqual(plain);
    expect(graph.nodes.filter((node) => node.op === "RandomBits").length).toBe(2);
    expect(kept(graph)).toEqual(["block/Tanh"]);
    const masks = graph.nodes.filter(({ op, outputs }) => op === "Barrier" && outputs[0]?.dtype === "bool");
    expect(masks.length).toBe(2);
    expect(() => remat(block, { masks: "store" as "keep" })).toThrow(/recompute/);
  });

  it("keeps nothing of a segment, also where its output is what its own rules read", () => {
    expect(kept(trace((x) => reduceSum(remat((v: Tensor) => exp(tanh(v)))(x))))).toEqual([]);
  });

  it("keeps a segment's output for whoever reads it outside", () => {
    expect(kept(trace((x) => reduceSum(exp(mul(remat((v: Tensor) => tanh(v))(x), 2)))))).toEqual([]);
    expect(kept(trace((x, w) => reduceSum(mul(remat(tanh)(x), w))))).toEqual(["Tanh"]);
  });

  it("recomputes only what the rules read", () => {
    const graph = trace((x) => reduceSum(remat((v: Tensor) => mul(sin(mul(v, 3)), 2))(x)));
    expect(graph.nodes.filter(({ origin }) => origin.phase === "backward").map(({ op }) => op)).not.toContain(
      "Sin",
    );
  });

  it("inside another checkpoint changes nothing: the outermost segment counts", () => {
    const inner = remat(tanh);
    const graph = trace((x) => reduceSum(remat((v: Tensor) => sin(inner(sin(v))))(x)));
    const recomputed = graph.nodes.filter(({ op, origin }) => op === "Sin" && origin.phase === "backward");
    expect(recomputed.length).toBe(1);
    expect(graph.nodes.filter(({ op }) => op === "Barrier").length).toBe(1);
    expect(kept(graph)).toEqual([]);
    expect(evaluate(graph, feed)).toEqual(
      evaluate(
        trace((x) => reduceSum(sin(tanh(sin(x))))),
        feed,
      ),
    );
  });

  it("numbers segments from 0 in every trace", () => {
    const numbers = (): unknown => {
      const graph = trace((x) => reduceSum(remat(tanh)(remat(sin)(x))));
      return graph.nodes.map((node) => node.origin.segment);
    };
    expect(numbers()).toEqual(numbers());
  });

  it("holds back what a segment makes of constants alone", () => {
    const graph = trace((x) => reduceSum(remat((v: Tensor) => tanh(mul(v, expand(literal(3), [2, 2]))))(x)));
    const expands = graph.nodes.filter((node) => node.op === "Expand" && node.origin.forward === "Expand");
    expect(expands.length).toBe(1);
    expect(graph.nodes.find((node) => node.outputs[0] === expands[0]?.inputs[0])?.op).toBe("Barrier");
  });

  it("has second derivatives", () => {
    const second = (fn: (x: Tensor) => Tensor): Graph =>
      trace((x) => reduceSum(grad((v: Tensor) => reduceSum(fn(v)))(x)));
    expect(evaluate(second(remat((x: Tensor) => exp(tanh(x)))), feed)).toEqual(
      evaluate(
        second((x) => exp(tanh(x))),
        feed,
      ),
    );
  });

  it("around a gradient recomputes that gradient", () => {
    const penalty = (x: Tensor): Tensor => grad((v: Tensor) => reduceSum(exp(tanh(v))))(x);
    const graph = trace((x) => reduceSum(remat(penalty)(x)));
    expect(kept(graph)).toEqual([]);
    expect(evaluate(graph, feed)).toEqual(
      evaluate(
        trace((x) => reduceSum(penalty(x))),
        feed,
      ),
    );
  });
});
