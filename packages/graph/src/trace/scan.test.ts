import { describe, expect, it } from "vitest";
import { validateGraph } from "../graph/build/validate.js";
import { printGraph } from "../graph/print.js";
import { tensor } from "../host/host-tensor.js";
import { evaluate } from "../reference/evaluate.js";
import { add, mul } from "./ops/binary.js";
import { scan } from "./ops/loop.js";
import type { Tensor } from "./tensor.js";
import { traceInto } from "./trace.js";

const f32 = (shape: readonly number[]) => ({ dtype: "f32" as const, shape });
const declare = (name: string, shape: readonly number[]) => ({
  name,
  role: "batch" as const,
  type: f32(shape),
});

/** Traces cumulative sums of x · w. */
function sums(reverse: boolean) {
  return traceInto([declare("start", [2]), declare("x", [3, 2]), declare("w", [2])], (inputs) => {
    const [start, x, w] = inputs as [Tensor, Tensor, Tensor];
    const [last, all] = scan(
      (sum: Tensor, element: Tensor) => {
        const next = add(sum, mul(element, w));
        return [next, { before: sum, after: next }];
      },
      start,
      x,
      { reverse },
    );
    return { last, all };
  }).graph;
}

const given = {
  start: tensor(Float32Array.of(100, 200), [2]),
  x: tensor(Float32Array.of(1, 2, 3, 4, 5, 6), [3, 2]),
  w: tensor(Float32Array.of(1, 10), [2]),
};

describe("scan", () => {
  it("carries values from step to step and stacks results", () => {
    const graph = sums(false);
    validateGraph(graph);
    const results = evaluate(graph, given);
    expect([...(results["last"]?.data ?? [])]).toEqual([109, 320]);
    expect([...(results["all/after"]?.data ?? [])]).toEqual([101, 220, 104, 260, 109, 320]);
    expect([...(results["all/before"]?.data ?? [])]).toEqual([100, 200, 101, 220, 104, 260]);
  });

  it("runs from the last element, and leaves results at their place", () => {
    const results = evaluate(sums(true), given);
    expect([...(results["last"]?.data ?? [])]).toEqual([109, 320]);
    expect([...(results["all/after"]?.data ?? [])]).toEqual([109, 320, 108, 300, 105, 260]);
  });

  it("is one node whose body prints below it", () => {
    expect(printGraph(sums(false))).toMatchSnapshot();
  });
});
