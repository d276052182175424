import { describe, expect, it } from "vitest";
import { grad } from "../gradient/grad.js";
import { type AnyNode, type Graph, producers } from "../graph/graph.js";
import { add, div, mul, sub } from "../trace/ops/binary.js";
import { matMul } from "../trace/ops/matrix.js";
import { reduceMean, reduceSum, reduceSumSquare } from "../trace/ops/reduce.js";
import { literal } from "../trace/ops/source.js";
import { cast, exp, relu, sqrt, tanh } from "../trace/ops/unary.js";
import { remat } from "../trace/remat.js";
import type { Tensor } from "../trace/tensor.js";
import { traceInto, withPhase } from "../trace/trace.js";
import { eliminateCommonSubexpressions } from "./common-subexpressions.js";
import { eliminateDeadCode } from "./dead-code.js";
import { peakLiveBytes } from "./liveness.js";
import { scheduleGraph } from "./schedule.js";

const MB = 2 ** 20;
/** Peak in whole MB, rounded down, since constants add a few bytes. */
const peakMb = (graph: Graph, outputsHeld = false): number =>
  Math.floor(peakLiveBytes(graph, { outputsHeld }).bytes / MB);

/** 48 tanh layers on 16 MB, in the given number of checkpoint segments, with the gradient of their sum. */
function tanhChain(segments: number): Graph {
  const part = (x: Tensor): Tensor => {
    let y = x;
    for (let layer = 0; layer < 48 / segments; layer++) y = tanh(y);
    return y;
  };
  const step = segments === 1 ? part : remat(part);
  return traceInto([{ name: "x", role: "batch", type: { dtype: "f32", shape: [2048, 2048] } }], ([x]) =>
    grad((input: Tensor) => {
      let y = input;
      for (let segment = 0; segment < segments; segment++) y = step(y);
      return reduceSum(y);
    })(x as Tensor),
  ).graph;
}

interface PerceptronOptions {
  readonly layers: number;
  readonly batch: number;
  readonly clip?: boolean;
}

/** Square tanh layers with weights of 1 MB; gradient descent with momentum follows the whole backward pass. */
function perceptron({ layers, batch, clip = false }: PerceptronOptions): Graph {
  const square = { dtype: "f32" as const, shape: [512, 512] };
  const weights = Array.from({ length: layers }, (_, index) => ({
    name: `w${index}`,
    role: "parameter" as const,
    type: square,
  }));
  const momenta = weights.map(({ name, type }) => ({ name: `m/${name}`, role: "state" as const, type }));
  const data = { name: "x", role: "batch" as const, type: { dtype: "f32" as const, shape: [batch, 512] } };
  return traceInto([...weights, ...momenta, data], (inputs) => {
    const w = inputs.slice(0, layers);
    const x = inputs.at(-1) as Tensor;
    const gradients = grad((parameters: readonly Tensor[]) =>
      reduceMean(parameters.reduce((y, weight) => tanh(matMul(y, weight)), x)),
    )(w);
    return withPhase("update", () => {
      const norm = sqrt(gradients.map((g) => reduceSumSquare(g)).reduce((a, b) => add(a, b)));
      const factor = clip ? norm : literal(0.5);
      const next = gradients.map((g, index) =>
        add(mul(inputs[layers + index] as Tensor, 0.9), mul(g, factor)),
      );
      return { next, weights: next.map((m, index) => sub(w[index] as Tensor, mul(m, 0.1))), norm };
    });
  }).graph;
}

/** The same layers in f16 with f32 masters, updated by Adam with bias correction and a finite check. */
function mixedPerceptron(layers: number): Graph {
  const square = { dtype: "f32" as const, shape: [512, 512] };
  const named = (stem: string, role: "parameter" | "state") =>
    Array.from({ length: layers }, (_, index) => ({ name: `${stem}${index}`, role, type: square }));
  const inputs = [
    ...named("w", "parameter"),
    ...named("mean", "state"),
    ...named("square", "state"),
    { name: "step", role: "state" as const, type: { dtype: "f32" as const, shape: [] } },
    { name: "x", role: "batch" as const, type: { dtype: "f16" as const, shape: [64, 512] } },
  ];
  return traceInto(inputs, (all) => {
    const [step, x] = all.slice(-2) as [Tensor, Tensor];
    const [w, means, squares] = [0, 1, 2].map((part) => all.slice(part * layers, (part + 1) * layers));
    const gradients = grad((parameters: readonly Tensor[]) =>
      cast(reduceSum(parameters.reduce((y, p) => tanh(matMul(y, cast(p, "f16"))), x)), "f32"),
    )(w ?? []);
    return withPhase("update", () => {
      const correction = (beta: number): Tensor => sub(1, exp(mul(step, Math.log(beta))));
      const rate = div(sqrt(correction(0.999)), correction(0.9));
      const poison = gradients.map((g) => reduceSum(mul(g, 0))).reduce((a, b) => add(a, b));
      const next = gradients.map((g, index) => {
        const mean = add(mul(means?.[index] as Tensor, 0.9), mul(g, 0.1));
        const spread = add(mul(squares?.[index] as Tensor, 0.999), mul(mul(g, g), 0.001));
        const move = mul(div(mean, add(sqrt(spread), 1e-8)), rate);
        return { mean, spread, weight: sub(w?.[index] as Tensor, move) };
      });
      return { next, poison };
    });
  }).graph;
}

/** Orders every node right after the level of its last operand, as an eager engine might do. */
function byLevel(graph: Graph): Graph {
  const makers = producers(graph);
  const levels = new Map<AnyNode, number>();
  for (const node of graph.nodes) {
    const below = node.inputs.map((input) => levels.get(makers.get(input) as AnyNode) ?? 0);
    levels.set(node, 1 + Math.max(0, ...below));
  }
  return { ...graph, nodes: graph.nodes.toSorted((a, b) => (levels.get(a) ?? 0) - (levels.get(b) ?? 0)) };
}

function expectSameNodesInOrder(scheduled: Graph, graph: Graph): void {
  expect(new Set(scheduled.nodes)).toEqual(new Set(graph.nodes));
  expect(scheduled.nodes.length).toBe(graph.nodes.length);
  const made = new Set(scheduled.inputs.map(({ value }) => value));
  for (const node of scheduled.nodes) {
    for (const input of node.inputs) expect(made.has(input)).toBe(true);
    for (const output of node.outputs) made.add(output);
  }
}

const clean = (graph: Graph): Graph => eliminateCommonSubexpressions(eliminateDeadCode(graph));

describe("peak memory of 48 tanh layers on 16 MB with their gradient", () => {
  it("is the 48 activations and the input, with two steps of work above them", () => {
    expect(peakMb(scheduleGraph(tanhChain(1)))).toBe((48 + 1 + 2) * 16);
  });

  it("in 8 checkpoint segments stays below 256 MB", () => {
    expect(peakMb(scheduleGraph(tanhChain(8)))).toBe(240);
    expect(peakMb(scheduleGraph(tanhChain(6)))).toBe(240);
  });
});

describe("scheduleGraph", () => {
  it.each([
    ["small batch", perceptron({ layers: 16, batch: 64 })],
    ["large batch", perceptron({ layers: 16, batch: 4096 })],
    ["clipped", perceptron({ layers: 16, batch: 64, clip: true })],
    ["checkpointed", tanhChain(8)],
  ])("gives the same nodes, each after what it reads: %s", (_, graph) => {
    for (const given of [clean(graph), byLevel(clean(graph))])
      expectSameNodesInOrder(scheduleGraph(given), given);
  });

  it("computes 1 - y² when its gradient is there, even where it stood right behind the forward node", () => {
    const early = byLevel(clean(perceptron({ layers: 16, batch: 4096 })));
    // Parameters, momenta and their next values 64 MB, 16 activations of 8 MB, three more at work.
    expect(peakMb(early, true)).toBeGreaterThan(64 + 2 * 16 * 8);
    expect(peakMb(scheduleGraph(early), true)).toBe(64 + 16 * 8 + 3 * 8);
  });

  it("updates each parameter right after its gradient", () => {
    const given = clean(perceptron({ layers: 16, batch: 64 }));
    const scheduled = scheduleGraph(given);
    const place = (op: string, nth: number): number => {
      const found = scheduled.nodes.flatMap((node, index) =>
        node.op === op && node.origin.phase === (op === "Gemm" ? "backward" : "update") ? [index] : [],
      );
      return found.at(nth) ?? Number.NaN;
    };
    expect(place("Sub", 0)).toBeLessThan(place("Gemm", 2));
    expect(peakMb(given, true)).toBe(64 + 18);
    expect(peakMb(scheduled, true)).toBe(64 + 4);
  });

  it("does so behind casts, scalar chains and literals that the backward pass shares", () => {
    const given = clean(mixedPerceptron(16));
    // Masters, moments and their next values 96 MB, f16 copies of the masters 8 MB.
    expect(peakMb(given, true)).toBe(96 + 16 + 2);
    expect(peakMb(scheduleGraph(given), true)).toBe(96 + 8 + 3);
    expectSameNodesInOrder(scheduleGraph(given), given);
  });

  it("keeps gradients that a global norm waits for, and is never worse than the order it got", () => {
    const given = clean(perceptron({ layers: 16, batch: 64, clip: true }));
    expect(peakMb(scheduleGraph(given), true)).toBeLessThanOrEqual(peakMb(given, true));
    const lastGradient = scheduleGraph(given).nodes.findLastIndex((node) => node.op === "Gemm");
    const firstUpdate = scheduleGraph(given).nodes.findIndex(
      (node) => node.op === "Sub" && node.origin.phase === "update",
    );
    expect(firstUpdate).toBeGreaterThan(lastGradient);
  });

  it("ends a saved activation in its mask and weight gradient before the gradient of that size is made", () => {
    const type = (...shape: number[]) => ({ dtype: "f32" as const, shape });
    const inputs = [
      { name: "w0", role: "parameter" as const, type: type(8, 4096) },
      { name: "w1", role: "parameter" as const, type: type(4096, 8) },
      { name: "x", role: "batch" as const, type: type(1024, 8) },
    ];
    const { graph } = traceInto(inputs, ([w0, w1, x]) =>
      grad((weights: readonly Tensor[]) =>
        reduceSum(matMul(relu(matMul(x as Tensor, weights[0] as Tensor)), weights[1] as Tensor)),
      )([w0 as Tensor, w1 as Tensor]),
    );
    const mask = (given: Graph): number => given.nodes.findIndex(({ op }) => op === "LessOrEqual");
    const wideGradient = (given: Graph): number =>
      given.nodes.findIndex(({ op, outputs }) => op === "Gemm" && outputs[0]?.shape.join() === "1024,4096");
    expect(mask(clean(graph))).toBeGreaterThan(wideGradient(clean(graph)));
    expect(mask(scheduleGraph(clean(graph)))).toBeLessThan(wideGradient(scheduleGraph(clean(graph))));
  });

  it("keeps the forward pass in order", () => {
    const given = clean(perceptron({ layers: 16, batch: 64 }));
    const forward = (graph: Graph): readonly string[] =>
      graph.nodes.filter(({ origin }) => origin.phase === "forward").map(({ name }) => name);
    expect(forward(scheduleGraph(byLevel(given)))).toEqual(forward(given));
  });
});
