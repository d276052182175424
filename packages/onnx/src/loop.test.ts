import { type Graph, type HostTensor, printGraph, type Tensor, tensor, traceInto } from "@mp/graph";
import { add, cast, matMul, mul, reduceSum, scan, tanh } from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { f32, reading, refusal } from "../test/small-models.js";
import { decodeModel } from "./decode.js";
import { encodeModel } from "./encode.js";
import { int, ints, type OnnxGraph, type OnnxNode, onnxGraph, onnxNode } from "./model.js";
import { readGraph } from "./read/read.js";
import { writeGraph } from "./write/write.js";

const throughFile = (graph: Graph): Graph => readGraph(decodeModel(encodeModel(writeGraph(graph)))).graph;

const declare = (name: string, ...shape: number[]) => ({
  name,
  role: "batch" as const,
  type: { dtype: "f32" as const, shape },
});

const numbers = (...shape: number[]): HostTensor => {
  const count = shape.reduce((product, size) => product * size, 1);
  return tensor(
    Float32Array.from({ length: count }, (_, index) => ((index * 7) % 11) / 8 - 0.5),
    shape,
  );
};

const inputs = { h: numbers(2), x: numbers(4, 2), w: numbers(2, 2), v: numbers(2, 2) };

/** Traces a function of a carry [2], a sequence [4, 2] and two matrices. */
const traced = (fn: (h: Tensor, x: Tensor, w: Tensor, v: Tensor) => Record<string, Tensor>): Graph =>
  traceInto([declare("h", 2), declare("x", 4, 2), declare("w", 2, 2), declare("v", 2, 2)], (given) =>
    fn(...(given as [Tensor, Tensor, Tensor, Tensor])),
  ).graph;

const step = (w: Tensor) => (state: Tensor, element: Tensor) => {
  const next = tanh(add(matMul(state, w), element));
  return [next, next] as const;
};

const loops: Readonly<Record<string, Graph>> = {
  "a recurrence": traced((h, x, w) => {
    const [last, all] = scan(step(w), h, x);
    return { last, all };
  }),
  "in reverse": traced((h, x, w) => {
    const [last, all] = scan(step(w), h, x, { reverse: true });
    return { last, all };
  }),
  "without sequences, in reverse": traced((h, _, w) => {
    const [last, all] = scan((state: Tensor) => [matMul(state, w), state], h, [], {
      length: 5,
      reverse: true,
    });
    return { last, all };
  }),
  "without carries": traced((_, x, w) => {
    const [, all] = scan((__, element: Tensor) => [[], matMul(element, w)], [], x);
    return { all };
  }),
  "that return what they are given, twice": traced((h, x, w) => {
    const [last, all] = scan((state: Tensor, element: Tensor) => [element, [state, state, element, w]], h, x);
    return { last, a: all[0] as Tensor, b: all[1] as Tensor, c: all[2] as Tensor, d: all[3] as Tensor };
  }),
  "in loops, which read names from around both": traced((h, x, w, v) => {
    const product = matMul(w, v);
    const [last, all] = scan(
      (state: Tensor, element: Tensor) => {
        const inner = (at: Tensor, sum: Tensor) =>
          [add(matMul(at, product), mul(element, state)), add(sum, at)] as const;
        const [next, sums] = scan(inner, state, w);
        return [add(next, reduceSum(cast(sums, "f32"), { axes: [0] })), next];
      },
      h,
      x,
    );
    // Outputs rename values that the bodies read.
    return { last, all, product, "product again": product, w };
  }),
};

describe("loops", () => {
  it.each(Object.entries(loops))("%s come back from a file as they were", (_, graph) => {
    const back = throughFile(graph);
    expect(printGraph(back)).toBe(printGraph(graph));
    expect(evaluate(back, inputs)).toEqual(evaluate(graph, inputs));
  });

  it.each(Object.entries(loops))("%s have names that no other graph of the model has", (_, graph) => {
    const names: string[] = [];
    const nodes: string[] = [];
    const visit = (onnx: OnnxGraph): void => {
      names.push(...onnx.inputs.map(({ name }) => name), ...onnx.initializers.map(({ name }) => name));
      for (const node of onnx.nodes) {
        names.push(...node.outputs);
        nodes.push(node.name);
        for (const attribute of Object.values(node.attributes))
          if (attribute.kind === "graph") visit(attribute.value);
      }
    };
    visit(writeGraph(graph).graph);
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(nodes).size).toBe(nodes.length);
  });

  it("show what they read when nothing else says it", () => {
    const graph = loops["in loops, which read names from around both"] as Graph;
    const bare = (onnx: OnnxGraph): OnnxGraph => ({
      ...onnx,
      nodes: onnx.nodes.map((node) => ({
        ...node,
        metadata: {},
        attributes: Object.fromEntries(
          Object.entries(node.attributes).map(([name, attribute]) => [
            name,
            attribute.kind === "graph" ? { kind: "graph", value: bare(attribute.value) } : attribute,
          ]),
        ),
      })),
    });
    const model = writeGraph(graph);
    const back = readGraph({ ...model, graph: bare(model.graph) }).graph;
    expect(evaluate(back, inputs)).toEqual(evaluate(graph, inputs));
  });
});

const body = (nodes: readonly OnnxNode[], given: readonly string[], made: readonly string[]): OnnxGraph =>
  onnxGraph("body", {
    nodes,
    inputs: given.map((name) => ({ name, metadata: {} })),
    outputs: made.map((name) => ({ name, metadata: {} })),
  });

const scanOf = (attributes: OnnxNode["attributes"], graph: OnnxGraph, outputs = ["last", "y"]): OnnxNode =>
  onnxNode("Scan", ["start", "x"], outputs, {
    name: "n",
    attributes: { num_scan_inputs: int(1), body: { kind: "graph", value: graph }, ...attributes },
  });

const sums = body(
  [onnxNode("Add", ["s", "e"], ["t"]), onnxNode("Identity", ["t"], ["u"])],
  ["s", "e"],
  ["t", "u"],
);

/** The results of a model with one node and the inputs start [2] and x [2, 3]. */
const computed = (node: OnnxNode, ...results: readonly (readonly [string, ...number[]])[]) => {
  const { graph } = reading({
    nodes: [node],
    inputs: [f32("start", 2), f32("x", 2, 3)],
    outputs: results.map(([name, ...shape]) => f32(name, ...shape)),
  });
  const x = tensor(Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]);
  const found = evaluate(graph, { start: tensor(Float32Array.of(10, 20)), x });
  return Object.fromEntries(
    Object.entries(found).map(([name, { data }]) => [name, Array.from(data as Float32Array)]),
  );
};

describe("loops of others", () => {
  it("go along any axis, in any direction", () => {
    const axes = { scan_input_axes: ints([1]), scan_output_axes: ints([-1]) };
    const results = [
      ["last", 2],
      ["y", 2, 3],
    ] as const;
    expect(computed(scanOf(axes, sums), ...results)).toEqual({
      last: [16, 35],
      y: [11, 13, 16, 24, 29, 35],
    });
    const backwards = { ...axes, scan_input_directions: ints([1]) };
    expect(computed(scanOf(backwards, sums), ...results)).toEqual({
      last: [16, 35],
      y: [13, 15, 16, 26, 31, 35],
    });
    const turned = { ...axes, scan_output_directions: ints([1]) };
    expect(computed(scanOf(turned, sums), ...results)).toEqual({
      last: [16, 35],
      y: [16, 13, 11, 35, 29, 24],
    });
  });

  const counted = (nodes: readonly OnnxNode[], goesOn: string): OnnxNode =>
    onnxNode("Loop", ["trips", "", "start"], ["last", "y"], {
      name: "n",
      attributes: { body: { kind: "graph", value: body(nodes, ["i", "more", "s"], [goesOn, "t", "u"]) } },
    });
  const adding = [
    onnxNode("Cast", ["i"], ["f"], { attributes: { to: int(1) } }),
    onnxNode("Add", ["s", "f"], ["t"]),
    onnxNode("Identity", ["t"], ["u"]),
  ];
  const looping = (node: OnnxNode) =>
    reading({
      nodes: [node],
      inputs: [f32("start", 2)],
      initializers: [{ name: "trips", tensor: tensor(BigInt64Array.of(3n), []) }],
      outputs: [f32("last", 2), f32("y", 3, 2)],
    }).graph;

  it("make a known number of steps, and may count them", () => {
    const graph = looping(counted(adding, "more"));
    const { last, y } = evaluate(graph, { start: tensor(Float32Array.of(1, 2)) });
    expect(Array.from(last?.data as Float32Array)).toEqual([4, 5]);
    expect(Array.from(y?.data as Float32Array)).toEqual([1, 2, 2, 3, 4, 5]);
  });

  it("are refused when they end early, or a step cannot be read", () => {
    const ends = onnxNode("Less", ["i", "trips"], ["on"]);
    expect(refusal(() => looping(counted([...adding, ends], "on")))).toMatch(
      /^MP_UNSUPPORTED: onnx: Loop .*decides in each step/,
    );
    const odd = body([onnxNode("Nothing", ["s"], ["t"])], ["s", "e"], ["t"]);
    expect(
      refusal(() =>
        reading({ nodes: [scanOf({}, odd, ["last"])], inputs: [f32("start", 3), f32("x", 2, 3)] }),
      ),
    ).toMatch(/^MP_UNSUPPORTED: onnx: Nothing/);
    const few = body([], ["s"], ["s"]);
    expect(
      refusal(() =>
        reading({ nodes: [scanOf({}, few, ["last"])], inputs: [f32("start", 3), f32("x", 2, 3)] }),
      ),
    ).toMatch(/^MP_PARSE: onnx: graph "body" has 1 inputs, its node gives it 2/);
  });
});
