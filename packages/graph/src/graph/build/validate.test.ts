import { describe, expect, it } from "vitest";
import { MpError } from "../../errors.js";
import type { AnyNode, Graph, Value } from "../graph.js";
import { GraphBuilder } from "./builder.js";
import { validateGraph } from "./validate.js";

function goodGraph(): Graph {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "f32", shape: [2, 3] }, "batch");
  const w = builder.input("w", { dtype: "f32", shape: [3, 4] }, "parameter");
  const product = builder.emitOne("MatMul", [x, w], {});
  const y = builder.emitOne("Relu", [product], {});
  return builder.finish({ y, x });
}

const alter = (change: (nodes: AnyNode[], graph: Graph) => Partial<Graph>): Graph => {
  const graph = goodGraph();
  return { ...graph, ...change([...graph.nodes], graph) };
};
const replaced = (node: AnyNode, change: Partial<AnyNode>): AnyNode => ({ ...node, ...change }) as AnyNode;
const [FIRST, SECOND] = [0, 1];

describe("validateGraph", () => {
  it("takes what the builder makes", () => {
    expect(() => validateGraph(goodGraph())).not.toThrow();
  });

  it.each<readonly [string, string, Graph]>([
    ["order", "node Relu reads operand 0 before it is made", alter((nodes) => ({ nodes: nodes.reverse() }))],
    [
      "a foreign operand",
      "node MatMul reads operand 1 before it is made",
      alter((_, { inputs }) => ({ inputs: inputs.slice(0, 1) })),
    ],
    [
      "a value made twice",
      "is a value that is made already",
      alter((nodes) => ({
        nodes: [...nodes, replaced(nodes[SECOND] as AnyNode, { name: "again" })],
      })),
    ],
    [
      "a type that inference does not give",
      "output 0 of node MatMul says f16[2, 4], inference gives f32[2, 4]",
      alter(([matMul]) => {
        const output: Value = { id: 99, dtype: "f16", shape: [2, 4] };
        return { nodes: [replaced(matMul as AnyNode, { outputs: [output] })], outputs: [] };
      }),
    ],
    [
      "operands that do not fit",
      "node MatMul: MatMul: inner sizes differ",
      alter(([matMul]) => ({
        nodes: [replaced(matMul as AnyNode, { inputs: [...(matMul as AnyNode).inputs].reverse() })],
        outputs: [],
      })),
    ],
    [
      "too few outputs",
      "node MatMul has 0 outputs, MatMul gives 1",
      alter(([matMul]) => ({ nodes: [replaced(matMul as AnyNode, { outputs: [] })], outputs: [] })),
    ],
    [
      "an unknown op",
      "node MatMul is of an unknown op MatMuul",
      alter(([matMul]) => ({
        nodes: [replaced(matMul as AnyNode, { op: "MatMuul" as "MatMul" })],
        outputs: [],
      })),
    ],
    [
      "an unknown output",
      'output "y" is a value that nothing makes',
      alter((nodes) => ({ nodes: nodes.slice(0, 1) })),
    ],
    [
      "equal node names",
      'two nodes are named "MatMul"',
      alter((nodes) => ({
        nodes: [nodes[FIRST] as AnyNode, replaced(nodes[SECOND] as AnyNode, { name: "MatMul" })],
      })),
    ],
    [
      "equal input names",
      'two inputs are named "x"',
      alter((_, { inputs }) => ({ inputs: inputs.map((input) => ({ ...input, name: "x" })) })),
    ],
    [
      "equal output names",
      'two outputs are named "y"',
      alter((_, { outputs }) => ({ outputs: outputs.map((output) => ({ ...output, name: "y" })) })),
    ],
    [
      "equal ids",
      "has the id %0 of another value",
      alter((_, { inputs }) => ({
        inputs: inputs.map((input) => ({ ...input, value: { ...input.value, id: 0 } })),
      })),
    ],
    [
      "a dimension that is none",
      'input "x" is f32[2, -1], dimensions must be integers ≥ 0',
      alter(() => ({
        inputs: [{ name: "x", role: "batch", value: { id: 0, dtype: "f32", shape: [2, -1] } }],
        nodes: [],
        outputs: [],
      })),
    ],
  ])("refuses %s", (_, message, graph) => {
    let thrown: unknown;
    try {
      validateGraph(graph);
    } catch (error) {
      thrown = error;
    }
    expect(MpError.is(thrown, "MP_INVALID_ARGUMENT")).toBe(true);
    expect((thrown as Error).message).toContain(message);
  });
});
