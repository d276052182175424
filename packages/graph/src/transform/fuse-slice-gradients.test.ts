import { describe, expect, it } from "vitest";
import { grad } from "../gradient/grad.js";
import type { Graph } from "../graph/graph.js";
import { printGraph } from "../graph/print.js";
import { add } from "../trace/ops/binary.js";
import { slice } from "../trace/ops/movement.js";
import { reduceSum } from "../trace/ops/reduce.js";
import { exp } from "../trace/ops/unary.js";
import type { Tensor } from "../trace/tensor.js";
import { traceInto } from "../trace/trace.js";
import { eliminateDeadCode } from "./dead-code.js";
import { fuseSliceGradients } from "./fuse-slice-gradients.js";

/** The gradient of a sum over slices [start, end) of the last axis of x [2, 8]. */
function slices(ranges: readonly (readonly [number, number])[], more?: (x: Tensor) => Tensor): Graph {
  const loss = (x: Tensor): Tensor => {
    const sums = ranges.map(([start, end]) => reduceSum(exp(slice(x, [{ axis: 1, start, end }]))));
    return [...sums, ...(more === undefined ? [] : [more(x)])].reduce((a, b) => add(a, b));
  };
  const { graph } = traceInto([{ name: "x", role: "batch", type: { dtype: "f32", shape: [2, 8] } }], ([x]) =>
    grad(loss)(x as Tensor),
  );
  return eliminateDeadCode(graph);
}
const ops = (graph: Graph): readonly string[] =>
  graph.nodes.map(({ op }) => op).filter((op) => /Pad|Add|Concat/.test(op));

describe("gradients of slices", () => {
  it("are concatenated, with zeros in the gaps", () => {
    expect(
      printGraph(
        fuseSliceGradients(
          slices([
            [4, 6],
            [0, 3],
          ]),
        ),
      ),
    ).toMatchInlineSnapshot(`
      "%0 = batch "x" : f32[2, 8]
      %1:f32[2, 2] = Slice(%0) {starts=[4] ends=[6] axes=[1] steps=[1]}
      %2:f32[2, 2] = Exp(%1)
      %3:f32[2, 3] = Slice(%0) {starts=[0] ends=[3] axes=[1] steps=[1]}
      %4:f32[2, 3] = Exp(%3)
      %5:f32[] = Constant() {value=f32[](1) literal=1}  # backward
      %6:f32[2, 3] = Expand(%5) {shape=[2,3]}  # backward
      %7:f32[2, 3] = Mul(%6, %4)  # backward
      %8:f32[2, 2] = Expand(%5) {shape=[2,2]}  # backward
      %9:f32[2, 2] = Mul(%8, %2)  # backward
      %10:f32[] = Constant() {value=f32[](0) literal=0}  # backward
      %11:f32[2, 1] = Expand(%10) {shape=[2,1]}  # backward
      %12:f32[2, 2] = Expand(%10) {shape=[2,2]}  # backward
      %13:f32[2, 8] = Concat(%7, %11, %9, %12) {axis=1}  # backward
      return "result" %13
      "
    `);
  });

  it("need no zeros where the slices cover the whole", () => {
    expect(
      ops(
        fuseSliceGradients(
          slices([
            [0, 2],
            [2, 4],
            [4, 6],
            [6, 8],
          ]),
        ),
      ),
    ).toEqual(["Concat"]);
  });

  it("that overlap are added", () => {
    expect(
      ops(
        fuseSliceGradients(
          slices([
            [0, 3],
            [2, 4],
            [4, 8],
          ]),
        ),
      ),
    ).toEqual(["Pad", "Concat", "Add"]);
    const one = slices([
      [0, 3],
      [2, 4],
    ]);
    expect(fuseSliceGradients(one)).toBe(one);
  });

  it("join what else flows into the value", () => {
    expect(
      ops(
        fuseSliceGradients(
          slices(
            [
              [0, 4],
              [4, 8],
            ],
            (x) => reduceSum(exp(x)),
          ),
        ),
      ),
    ).toEqual(["Concat", "Add"]);
  });
});
