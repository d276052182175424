import { expect, it } from "vitest";
import { valueAndGrad } from "../../gradient/grad.js";
import { type HostTensor, tensor } from "../../host/host-tensor.js";
import { evaluate } from "../../reference/evaluate.js";
import { add, mul } from "../../trace/ops/binary.js";
import { scan } from "../../trace/ops/loop.js";
import { matMul } from "../../trace/ops/matrix.js";
import { reduceMean } from "../../trace/ops/reduce.js";
import { tanh } from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import { traceInto } from "../../trace/trace.js";
import { prepareGraph } from "../../transform/prepare.js";
import { validateGraph } from "../build/validate.js";
import { unrollScans } from "./unroll.js";

const STEPS = 4;

/** Loss and gradients of a recurrent net, forward or in reverse. */
function recurrent(reverse: boolean) {
  const types = { w: [3, 3], b: [3], h: [2, 3], x: [STEPS, 2, 3] } as const;
  const traced = traceInto(
    Object.entries(types).map(([name, shape]) => ({
      name,
      role: "parameter" as const,
      type: { dtype: "f32" as const, shape },
    })),
    (inputs) => {
      const [w, b, h, x] = inputs as [Tensor, Tensor, Tensor, Tensor];
      return valueAndGrad((weights: { w: Tensor; b: Tensor }) => {
        const [last, all] = scan(
          (state: Tensor, element: Tensor) => {
            const next = tanh(add(add(matMul(state, weights.w), element), weights.b));
            return [next, mul(next, next)];
          },
          h,
          x,
          { reverse },
        );
        return add(reduceMean(all), reduceMean(last));
      })({ w, b });
    },
  );
  const given = Object.entries(types).map(([name, shape], seed): [string, HostTensor] => {
    const size = shape.reduce((a: number, b) => a * b, 1);
    return [
      name,
      tensor(
        Float32Array.from({ length: size }, (_, i) => Math.sin(seed + 1.7 * i)),
        shape,
      ),
    ];
  });
  return { graph: prepareGraph(traced.graph), given: Object.fromEntries(given) };
}

it.each([false, true])("computes the same without loops, reversed: %s", (reverse) => {
  const { graph, given } = recurrent(reverse);
  const steps = prepareGraph(unrollScans(graph));
  validateGraph(steps);
  expect(graph.nodes.filter(({ op }) => op === "Scan")).toHaveLength(2);
  expect(steps.nodes.filter(({ op }) => op === "Scan")).toHaveLength(0);
  const [loops, unrolled] = [graph, steps].map((one) => evaluate(one, given));
  expect(Object.keys(unrolled ?? {})).toEqual(Object.keys(loops ?? {}));
  for (const [name, { data }] of Object.entries(loops ?? {})) {
    const other = unrolled?.[name]?.data ?? [];
    data.forEach((value: number | bigint, index: number) => {
      expect(Number(other[index])).toBeCloseTo(Number(value), 6);
    });
  }
});

it("reads what one scan stacks for another step by step", () => {
  const { graph } = recurrent(false);
  const ops = prepareGraph(unrollScans(graph)).nodes.map(({ op }) => op);
  // Splits the given sequence and the result's gradient; what the forward scan saves is not split again.
  expect(ops.filter((op) => op === "Split")).toHaveLength(2);
});
