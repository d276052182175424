import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../graph/build/builder.js";
import type { Graph } from "../graph/graph.js";
import { printGraph } from "../graph/print.js";
import { tensor } from "../host/host-tensor.js";
import { add, div, maximum, mul, sub } from "../trace/ops/binary.js";
import { pad, transpose } from "../trace/ops/movement.js";
import { constant } from "../trace/ops/source.js";
import { exp, sin } from "../trace/ops/unary.js";
import { key, randomUniform } from "../trace/random/random.js";
import { remat } from "../trace/remat.js";
import type { Tensor } from "../trace/tensor.js";
import { traceInto, withPhase } from "../trace/trace.js";
import { eliminateCommonSubexpressions } from "./common-subexpressions.js";

const input = { name: "x", role: "batch" as const, type: { dtype: "f32" as const, shape: [2, 2] } };
/** The ops that remain of the function's nodes. */
const ops = (fn: (x: Tensor) => unknown): readonly string[] =>
  eliminateCommonSubexpressions(traceInto([input], ([x]) => fn(x as Tensor)).graph).nodes.map(({ op }) => op);

describe("common subexpressions", () => {
  it("become the first of them, in what reads them and in the outputs", () => {
    const { graph } = traceInto([input], ([x]) => {
      const [a, b] = [exp(x as Tensor), exp(x as Tensor)];
      return { a, b, c: sub(a, b), d: mul(sin(a), sin(b)) };
    });
    expect(printGraph(eliminateCommonSubexpressions(graph))).toMatchInlineSnapshot(`
      "%0 = batch "x" : f32[2, 2]
      %1:f32[2, 2] = Exp(%0)
      %2:f32[2, 2] = Sub(%1, %1)
      %3:f32[2, 2] = Sin(%1)
      %4:f32[2, 2] = Mul(%3, %3)
      return "a" %1
      return "b" %1
      return "c" %2
      return "d" %4
      "
    `);
  });

  it("are seen through the order of operands where that changes no bit", () => {
    expect(ops((x) => [add(x, exp(x)), add(exp(x), x)])).toEqual(["Exp", "Add"]);
    expect(ops((x) => [sub(x, exp(x)), sub(exp(x), x)])).toEqual(["Exp", "Sub", "Sub"]);
    expect(ops((x) => [maximum(x, exp(x)), maximum(exp(x), x)])).toEqual(["Exp", "Max", "Max"]);
  });

  it("have equal attributes, to the sign of zero", () => {
    const padded = (x: Tensor, value: number): Tensor =>
      pad(
        x,
        [
          [0, 1],
          [0, 0],
        ],
        { value },
      );
    expect(ops((x) => [padded(x, 0), padded(x, 0), padded(x, -0)])).toEqual(["Pad", "Pad"]);
    expect(ops((x) => [transpose(x), transpose(x, [1, 0]), transpose(x, [0, 1])])).toEqual([
      "Transpose",
      "Transpose",
    ]);
  });

  it("of constants go by dtype, shape and bits, across phases and segments", () => {
    const data = (...numbers: readonly number[]): Tensor => constant(tensor(Float32Array.from(numbers)));
    expect(ops(() => [data(1, 2), data(1, 2), data(1, 3), data(0, 2), data(-0, 2)])).toEqual(
      new Array(4).fill("Constant"),
    );
    expect(ops(() => [data(1), constant(tensor(Float32Array.of(1), [1, 1]))])).toEqual([
      "Constant",
      "Constant",
    ]);
    expect(ops(() => [data(Number.NaN), data(Number.NaN)])).toEqual(["Constant"]);
    expect(
      ops((x) => [add(x, 1), remat((v: Tensor) => div(v, 1))(x), withPhase("backward", () => sub(x, 1))]),
    ).toEqual(["Constant", "Add", "Div", "Sub"]);
  });

  it("do not merge across the passes of a step, nor across checkpoint segments", () => {
    expect(ops((x) => [exp(x), withPhase("loss", () => exp(x))])).toEqual(["Exp"]);
    expect(
      ops((x) => [exp(x), withPhase("backward", () => exp(x)), withPhase("update", () => exp(x))]),
    ).toEqual(["Exp", "Exp", "Exp"]);
    const step = remat(exp);
    expect(ops((x) => [exp(x), step(x), step(x)])).toEqual(["Exp", "Exp", "Exp"]);
  });

  it("never include barriers, nor what is behind two of them", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", input.type, "batch");
    const behind = [0, 1].map(() => builder.emitOne("Exp", [builder.emitOne("Barrier", [x, x], {})], {}));
    const graph: Graph = builder.finish({ a: behind[0] as never, b: behind[1] as never });
    expect(eliminateCommonSubexpressions(graph)).toBe(graph);
  });

  it("of random draws are draws of one stream", () => {
    const draws = (x: Tensor): unknown => [randomUniform(key(1), [2]), randomUniform(key(1), [2]), x];
    expect(ops(draws).filter((op) => op === "RandomBits").length).toBe(2);
    const builder = new GraphBuilder();
    const drawn = builder.input("drawn", { dtype: "i32", shape: [] }, "state");
    const bits = [7n, 7n, 8n].map((name) =>
      builder.emitOne("RandomBits", [drawn], { key: name, shape: [3] }),
    );
    const graph = builder.finish(Object.fromEntries(bits.map((value, index) => [`r${index}`, value])));
    expect(eliminateCommonSubexpressions(graph).nodes.length).toBe(2);
  });
});
