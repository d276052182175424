import { describe, expect, it } from "vitest";
import { tensor } from "../../host/host-tensor.js";
import { evaluate } from "../../reference/evaluate.js";
import { add, mul } from "../../trace/ops/binary.js";
import { scan } from "../../trace/ops/loop.js";
import { matMul } from "../../trace/ops/matrix.js";
import { transpose } from "../../trace/ops/movement.js";
import { exp, tanh } from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import { traceInto } from "../../trace/trace.js";
import { eliminateCommonSubexpressions } from "../../transform/common-subexpressions.js";
import { eliminateDeadCode } from "../../transform/dead-code.js";
import { peakLiveBytes } from "../../transform/liveness.js";
import { validateGraph } from "../build/validate.js";
import { type Graph, isNode } from "../graph.js";
import { hoistInvariants } from "./hoist-invariants.js";

const trace = (
  shapes: Readonly<Record<string, readonly number[]>>,
  body: (...inputs: Tensor[]) => object,
): Graph =>
  traceInto(
    Object.entries(shapes).map(([name, shape]) => ({
      name,
      role: "batch" as const,
      type: { dtype: "f32" as const, shape },
    })),
    (inputs) => body(...inputs),
  ).graph;

const given = (graph: Graph) =>
  Object.fromEntries(
    graph.inputs.map(({ name, value: { shape } }, seed) => {
      const size = shape.reduce((a, b) => a * b, 1);
      return [
        name,
        tensor(
          Float32Array.from({ length: size }, (_, i) => Math.sin(seed + 1.7 * i)),
          shape,
        ),
      ];
    }),
  );

const scanOf = (graph: Graph) => {
  const [node, ...others] = graph.nodes.filter((one) => one.op === "Scan");
  if (node === undefined || others.length > 0 || !isNode(node, "Scan")) throw new Error("not one scan");
  return node;
};

describe("dead results of a scan", () => {
  const graph = trace({ h: [2], other: [2], x: [3, 2], z: [3, 2], w: [2] }, (h, other, x, z, w) => {
    const [[last], { kept }] = scan(
      ([a, b]: readonly [Tensor, Tensor], { first, second }: { first: Tensor; second: Tensor }) => [
        [add(a as Tensor, first), mul(b as Tensor, w as Tensor)] as const,
        { kept: a as Tensor, dropped: exp(second) },
      ],
      [h, other] as readonly [Tensor, Tensor],
      { first: x as Tensor, second: z as Tensor },
    );
    return { last, kept };
  });

  it("go, with the carries, sequences and invariants that only they need", () => {
    const lean = eliminateDeadCode(graph);
    validateGraph(lean);
    const { attributes, inputs, outputs } = scanOf(lean);
    expect({ ...attributes, body: attributes.body.nodes.map(({ op }) => op) }).toEqual({
      body: ["Add"],
      carries: 1,
      sequences: 1,
      length: 3,
      reverse: false,
      saved: 0,
    });
    expect([inputs.length, outputs.length]).toEqual([2, 2]);
    expect(evaluate(lean, given(lean))).toEqual(evaluate(graph, given(graph)));
  });

  it("stay where a later step needs them", () => {
    const chained = trace({ a: [2], b: [2] }, (a, b) => {
      const [[last]] = scan(
        ([x, y]: readonly [Tensor, Tensor]) => [[y, add(x, y)] as const, []],
        [a, b] as readonly [Tensor, Tensor],
        [],
        { length: 4 },
      );
      return { last };
    });
    expect(scanOf(eliminateDeadCode(chained)).attributes.carries).toBe(2);
  });
});

describe("what is the same in every step", () => {
  const graph = trace({ h: [2, 3], x: [4, 2, 3], w: [3, 3] }, (h, x, w) => {
    const [last] = scan(
      (state: Tensor, element: Tensor) => [
        tanh(add(matMul(state, transpose(mul(w as Tensor, 2))), element)),
        [],
      ],
      h as Tensor,
      x as Tensor,
    );
    return { last };
  });

  it("is computed once, outside", () => {
    const lean = eliminateDeadCode(hoistInvariants(graph));
    validateGraph(lean);
    expect(lean.nodes.map(({ op }) => op)).toEqual(["Constant", "Mul", "Transpose", "Scan"]);
    expect(scanOf(lean).attributes.body.nodes.map(({ op }) => op)).toEqual(["MatMul", "Add", "Tanh"]);
    expect(evaluate(lean, given(lean))).toEqual(evaluate(graph, given(graph)));
  });
});

describe("scans that look alike", () => {
  it("merge only if they have one body", () => {
    const graph = trace({ h: [2], x: [3, 2] }, (h, x) => {
      const run = (change: (sum: Tensor) => Tensor): Tensor =>
        scan((sum: Tensor, element: Tensor) => [change(add(sum, element)), []], h as Tensor, x as Tensor)[0];
      return { a: run(tanh), b: run(exp) };
    });
    const [node] = graph.nodes.filter(({ op }) => op === "Scan");
    if (node === undefined) throw new Error("no scan");
    expect(eliminateCommonSubexpressions(graph).nodes).toHaveLength(2);
    const copy = {
      ...node,
      name: "copy",
      outputs: node.outputs.map((output) => ({ ...output, id: output.id + 100 })),
    };
    const twice = {
      ...graph,
      nodes: [...graph.nodes, copy],
      outputs: [{ name: "c", value: copy.outputs[0] as never }],
    };
    expect(eliminateCommonSubexpressions(twice).nodes).toHaveLength(2);
  });
});

it("counts what one step holds at its peak", () => {
  const wide = trace({ h: [2], x: [3, 2], w: [2, 1000] }, (h, x, w) => {
    const [last] = scan(
      (sum: Tensor, element: Tensor) => {
        const hidden = tanh(matMul(add(sum, element), w as Tensor));
        return [matMul(hidden, transpose(w as Tensor)), []];
      },
      h as Tensor,
      x as Tensor,
    );
    return { last };
  });
  const outside = wide.inputs.reduce((sum, { value }) => sum + 4 * value.shape.reduce((a, b) => a * b, 1), 0);
  expect(peakLiveBytes(wide).bytes).toBeGreaterThan(outside + 2 * 4000);
});
