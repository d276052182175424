import { describe, expect, it } from "vitest";
import { printGraph } from "../graph/print.js";
import { add, mul } from "./ops/binary.js";
import type { Tensor } from "./tensor.js";
import { inlineTraced, scope, traceInto } from "./trace.js";

const f32 = (...shape: number[]) => ({ dtype: "f32" as const, shape });

describe("tracing", () => {
  it("gives a typed graph with scopes, literals once, and captures of the enclosing trace", () => {
    const traced = traceInto([{ name: "x", role: "batch", type: f32(2, 3) }], ([x]) => {
      const outer = add(x as Tensor, 1);
      const inner = traceInto([], () => scope("inner", () => mul(add(outer, 1), 2)));
      return { y: inlineTraced(inner, []), z: outer };
    });
    expect(printGraph(traced.graph)).toMatchInlineSnapshot(`
      "%0 = batch "x" : f32[2, 3]
      %1:f32[] = Constant() {value=f32[](1) literal=1}
      %2:f32[2, 3] = Add(%0, %1)
      %3:f32[] = Constant() {value=f32[](1) literal=1}  # inner
      %4:f32[2, 3] = Add(%2, %3)  # inner
      %5:f32[] = Constant() {value=f32[](2) literal=2}  # inner
      %6:f32[2, 3] = Mul(%4, %5)  # inner
      return "y" %6
      return "z" %2
      "
    `);
  });
});
