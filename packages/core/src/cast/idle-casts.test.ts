import { grad, printGraph, type Tensor } from "@mp/graph";
import { cast, mul, reduceSum } from "@mp/graph/ops";
import { expect, it } from "vitest";
import { emit } from "../../../graph/src/trace/emit.js";
import { graphOf } from "../../../graph/test/traced-nets.js";
import { dropIdleCasts } from "./idle-casts.js";

it("drops casts to the dtype that is there, and keeps backward nodes pointing at their forward ones", () => {
  const graph = graphOf({ w: [4] }, { x: [4] }, ({ w, x }) => [
    emit("Cast", [x], { to: "f32" }),
    grad((weights: Tensor) => reduceSum(cast(mul(cast(weights, "bf16"), 2), "f32")))(w),
  ]);
  const result = dropIdleCasts(graph);
  expect(printGraph(result)).toMatchInlineSnapshot(`
    "%0 = parameter "w" : f32[4]
    %1 = batch "x" : f32[4]
    %2:bf16[4] = Cast(%0) {to=bf16}
    %3:bf16[] = Constant() {value=bf16[](16384) literal=2}
    %4:bf16[4] = Mul(%2, %3)
    %5:f32[4] = Cast(%4) {to=f32}
    %6:f32[] = ReduceSum(%5) {axes=[0] keepdims=false}
    %7:f32[] = Constant() {value=f32[](1) literal=1}  # backward
    %8:f32[4] = Expand(%7) {shape=[4]}  # backward
    %9:bf16[4] = Cast(%8) {to=bf16}  # backward
    %10:bf16[4] = Mul(%9, %3)  # backward
    %11:f32[4] = Cast(%10) {to=f32}  # backward
    return "0" %1
    return "1" %11
    "
  `);
  const pointsAt = result.nodes.flatMap(({ name, origin }) =>
    origin.forward === undefined ? [] : [`${name} at ${origin.forward}`],
  );
  expect(pointsAt).toMatchInlineSnapshot(`
    [
      "Expand at ReduceSum",
      "Cast_2 at Cast_1",
      "Mul_1 at Mul",
      "Cast_3 at Cast",
    ]
  `);
});

it("gives the same graph where there is none", () => {
  const graph = graphOf({}, { x: [4] }, ({ x }) => cast(x, "f16"));
  expect(dropIdleCasts(graph)).toBe(graph);
});
