import { type Graph, type Tensor, traceInto } from "@mp/graph";
import { resolveBindings } from "@mp/graph/internal";
import { add, conv, mul, reduceMean, relu, reshape } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { lowerProgram } from "../src/lowerings/program.js";

const image = { name: "x", role: "batch", type: { dtype: "f32", shape: [2, 3, 8, 8] } } as const;
const kernel = (name: string, ...shape: number[]) =>
  ({ name, role: "parameter", type: { dtype: "f32", shape } }) as const;

/** Number of times an image is transposed: transpositions of four axes that start with the batch. */
function turns(graph: Graph): number {
  const { nodes } = lowerProgram(graph, {
    scope: "p",
    bound: resolveBindings(graph, undefined, {}),
    handle: (slot) => slot,
    isWidened: () => false,
  });
  const turned = nodes.filter(({ op }) => op === "Transpose");
  // Filters are transposed once each.
  return turned.length - graph.inputs.filter(({ role }) => role === "parameter").length;
}

const trace = (body: (x: Tensor, a: Tensor, b: Tensor) => Tensor): Graph =>
  traceInto([image, kernel("a", 4, 3, 3, 3), kernel("b", 4, 4, 3, 3)], ([x, a, b]) => ({
    y: body(x as Tensor, a as Tensor, b as Tensor),
  })).graph;

describe("layout", () => {
  it("turns an image once on the way in and once on the way out, whatever lies between two convolutions", () => {
    const graph = trace((x, a, b) => {
      const h = relu(
        mul(add(conv(x, a, { pads: 1 }), reshape(reduceMean(a, { axes: [1, 2, 3] }), [4, 1, 1])), 0.5),
      );
      return add(conv(h, b, { pads: 1 }), h);
    });
    expect(turns(graph)).toBe(2);
  });

  it("needs no turn for a mean over all places, nor for what nobody reads in our order", () => {
    const graph = trace((x, a, b) => reduceMean(conv(relu(conv(x, a)), b), { axes: [2, 3] }));
    expect(turns(graph)).toBe(1);
  });

  it("turns back for what does not take the engine's order", () => {
    const graph = trace((x, a, b) => reshape(conv(conv(x, a), b), [2, -1]));
    expect(turns(graph)).toBe(2);
  });
});
