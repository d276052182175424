import { expect, it } from "vitest";
import { printGraph } from "../graph/print.js";
import { add, mul } from "../trace/ops/binary.js";
import { split } from "../trace/ops/movement.js";
import { exp } from "../trace/ops/unary.js";
import type { Tensor } from "../trace/tensor.js";
import { traceInto } from "../trace/trace.js";
import { eliminateDeadCode } from "./dead-code.js";

const x = { name: "x", role: "batch" as const, type: { dtype: "f32" as const, shape: [4] } };
const unused = { ...x, name: "unused" };

it("drops what no output needs, keeps inputs and nodes of which one output is read", () => {
  const { graph } = traceInto([x, unused], ([v]) => {
    exp(exp(v as Tensor));
    const [low] = split(v as Tensor, 2);
    return mul(low as Tensor, 2);
  });
  expect(printGraph(eliminateDeadCode(graph))).toMatchInlineSnapshot(`
    "%0 = batch "x" : f32[4]
    %1 = batch "unused" : f32[4]
    %2:f32[2], %3:f32[2] = Split(%0) {axis=0 split=[2,2]}
    %4:f32[] = Constant() {value=f32[](2) literal=2}
    %5:f32[2] = Mul(%2, %4)
    return "result" %5
    "
  `);
});

it("gives the same graph when nothing is dead", () => {
  const { graph } = traceInto([x], ([v]) => add(v as Tensor, 1));
  expect(eliminateDeadCode(graph)).toBe(graph);
});
