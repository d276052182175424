import { GraphBuilder, type HostTensor, tensor } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { f32, of, reading } from "../../test/small-models.js";
import {
  float,
  floats,
  int,
  type OnnxGraph,
  type OnnxNode,
  onnxGraph,
  onnxModel,
  onnxNode,
} from "../model.js";
import { writeGraph } from "../write/write.js";
import { OPERATORS_WITH_ROLES } from "./initializer-roles.js";
import { readGraph } from "./read.js";
import { READ_OPERATORS } from "./readers.js";

const ramp = (...shape: number[]): HostTensor => {
  const count = shape.reduce((product, size) => product * size, 1);
  return tensor(
    Float32Array.from({ length: count }, (_, at) => Math.sin(at * at) / 2 + 0.6),
    shape,
  );
};
const table = (rows: number, columns: number, at: (row: number, column: number) => number): HostTensor =>
  tensor(
    Float32Array.from({ length: rows * columns }, (_, place) =>
      at(Math.floor(place / columns), place % columns),
    ),
    [rows, columns],
  );
const node = (opType: string, inputs: string, output: string, attributes = {}): OnnxNode =>
  onnxNode(opType, inputs.split(" "), [output], { name: output, attributes });

/** The role of each initializer in a graph of these nodes. */
function roles(
  initializers: Readonly<Record<string, HostTensor>>,
  nodes: readonly OnnxNode[],
  inputs: OnnxGraph["inputs"] = [f32("x", 6, 6)],
): Readonly<Record<string, string>> {
  const read = reading({
    inputs,
    initializers: Object.entries(initializers).map(([name, value]) => ({ name, tensor: value })),
    nodes,
  });
  return Object.fromEntries(
    read.initializers.map(({ name, isParameter, reason }) => [
      name,
      `${isParameter ? "parameter" : "constant"}: ${reason}`,
    ]),
  );
}
const added = (what: HostTensor): string | undefined => roles({ t: what }, [node("Add", "x t", "y")])["t"];
const multiplied = (what: HostTensor): string | undefined =>
  roles({ t: what }, [node("Mul", "t x", "y")])["t"];

it("the tables of roles have operators that are read, each once", () => {
  expect(OPERATORS_WITH_ROLES.filter((op) => !READ_OPERATORS.includes(op))).toEqual([]);
  expect(new Set(OPERATORS_WITH_ROLES).size).toBe(OPERATORS_WITH_ROLES.length);
});

describe("warnings", () => {
  const warningsOf = (
    initializers: Readonly<Record<string, HostTensor>>,
    nodes: readonly OnnxNode[],
    producerName = "",
  ): readonly string[] => {
    const messages: string[] = [];
    const entries = Object.entries(initializers).map(([name, value]) => ({ name, tensor: value }));
    const model = onnxModel(
      onnxGraph("g", {
        inputs: [f32("x", 6, 6)],
        initializers: entries,
        nodes,
        outputs: [{ name: "y", metadata: {} }],
      }),
    );
    readGraph({ ...model, producerName }, { onWarning: ({ message }) => messages.push(message) });
    return messages;
  };
  const gain = tensor(Float32Array.of(0.25), []);

  it("name a gain that is not trained, with what trains it", () => {
    const nodes = [node("Mul", "x temperature", "y")];
    expect(warningsOf({ temperature: gain }, nodes)).toEqual([
      'onnx: not trained: "temperature" (a single number, factor of Mul "y"); to train one, pass isParameter: (name, _, byDefault) => byDefault.isParameter || name === "temperature"',
    ]);
    // PyTorch names parameters by their modules; the exporter generates names for the constants of formulas.
    expect(warningsOf({ temperature: gain }, nodes, "pytorch")).toEqual([]);
    expect(warningsOf({ val_3: gain }, [node("Mul", "x val_3", "y")])).toEqual([]);
  });

  it("name an initializer that several layers share", () => {
    const nodes = [node("MatMul", "x w", "h"), node("MatMul", "h w", "y")];
    expect(warningsOf({ w: ramp(6, 6) }, nodes)).toEqual([
      expect.stringContaining(
        'one parameter for several layers, trained as one: "w" (weight of MatMul "h", weight of MatMul "y")',
      ),
    ]);
    expect(
      warningsOf(
        { w: ramp(6, 6) },
        nodes.slice(0, 1).map(() => node("MatMul", "x w", "y")),
      ),
    ).toEqual([]);
  });

  it("say that ones and zeros of a normalization are not trained, unless a gain follows", () => {
    const each = { one: tensor(new Float32Array(6).fill(1)), zero: tensor(new Float32Array(6)) };
    const normalized = (output: string) => [
      node("Unsqueeze", "x last", "x3"),
      node("InstanceNormalization", "x3 one zero", output),
    ];
    const last = tensor(BigInt64Array.of(2n));
    expect(warningsOf({ ...each, last }, normalized("y"))).toEqual([
      expect.stringMatching(/not trained: "one" \(ones, scale of .*\), "zero" \(zeros, bias of /),
    ]);
    const scaled = [...normalized("n"), node("Mul", "n gains", "y")];
    expect(warningsOf({ ...each, last, gains: ramp(6, 1) }, scaled)).toEqual([]);
    expect(warningsOf({ ...each, last }, normalized("y"), "pytorch")).toEqual([]);
  });
});

describe("which initializers are parameters", () => {
  it("takes the slopes of PReLU, and gains of PyTorch's modules that are one number, also computed upon", () => {
    expect(roles({ slope: ramp(6) }, [node("PRelu", "x slope", "y")])["slope"]).toBe(
      'parameter: slope of PRelu "y"',
    );
    const scale = tensor(Float32Array.of(1.5), []);
    const nodes = [node("Exp", "logit_scale", "scale"), node("Mul", "x scale", "y")];
    const of = (producerName: string) => {
      const given = { initializers: [{ name: "logit_scale", tensor: scale }], nodes };
      const graph = onnxGraph("g", {
        inputs: [f32("x", 6, 6)],
        outputs: [{ name: "y", metadata: {} }],
        ...given,
      });
      return readGraph({ ...onnxModel(graph), producerName }, { onWarning: () => {} }).initializers[0]
        ?.isParameter;
    };
    expect(of("pytorch")).toBe(true);
    expect(of("tf2onnx")).toBe(false);
  });

  it("takes weights, also those that are moved or computed upon before", () => {
    const found = roles({ w: ramp(6, 6), v: ramp(6, 6), b: ramp(6), eps: ramp(1) }, [
      node("Transpose", "w", "wt"),
      node("MatMul", "x wt", "h"),
      node("Mul", "v eps", "scaled"),
      node("Identity", "b", "alias"),
      node("Gemm", "h scaled alias", "y"),
    ]);
    expect(found).toEqual({
      w: 'parameter: weight of MatMul "h"',
      v: 'parameter: weight of Gemm "y"',
      b: 'parameter: bias of Gemm "y"',
      eps: "constant: a single number",
    });
  });

  it("takes gains and offsets, and leaves the statistics of a normalization in parts", () => {
    const each = { mean: ramp(6), variance: ramp(6), gain: ramp(6), offset: ramp(6), epsilon: ramp(1) };
    const found = roles(each, [
      node("Sub", "x mean", "centered"),
      node("Add", "variance epsilon", "safe"),
      node("Sqrt", "safe", "deviation"),
      node("Div", "centered deviation", "normal"),
      node("Mul", "normal gain", "scaled"),
      node("Add", "scaled offset", "y"),
    ]);
    expect(found["gain"]).toBe('parameter: factor of Mul "scaled"');
    expect(found["offset"]).toBe('parameter: added by Add "y"');
    expect(found["mean"]).toBe("constant: operand 1 of Sub, which holds no weights there");
    expect(found["variance"]).toBe("constant: variance, by its Sqrt");
  });

  it("leaves the running statistics of BatchNormalization", () => {
    const each = { scale: ramp(6), bias: ramp(6), mean: ramp(6), variance: ramp(6) };
    const found = roles(each, [node("BatchNormalization", "x scale bias mean variance", "y")]);
    expect(found).toEqual({
      scale: 'parameter: scale of BatchNormalization "y"',
      bias: 'parameter: bias of BatchNormalization "y"',
      mean: "constant: running mean of BatchNormalization",
      variance: "constant: running variance of BatchNormalization",
    });
  });

  it("leaves masks, and takes tables of the same shape that are learned", () => {
    const causal = (hidden: number): HostTensor => table(6, 6, (row, column) => (column > row ? hidden : 0));
    for (const hidden of [Number.NEGATIVE_INFINITY, -3.4028234663852886e38, -65504, -10000])
      expect(added(causal(hidden))).toMatch(/^constant: a mask/);
    expect(multiplied(table(6, 6, (row, column) => Number(column <= row)))).toMatch(/^constant: a mask/);
    expect(added(ramp(6, 6))).toBe('parameter: added by Add "y"');
    expect(added(table(6, 6, () => 0))).toBe('parameter: added by Add "y"');
    expect(multiplied(ramp(6, 6))).toBe('parameter: factor of Mul "y"');
    // A bias of zeros and ones is not a mask, nor is a gain that begins as ones.
    expect(added(tensor(Float32Array.of(0, 1, 0, 1, 0, 1)))).toMatch(/^parameter/);
    expect(multiplied(tensor(new Float32Array(6).fill(1)))).toMatch(/^parameter/);
  });

  it("leaves tables of angles, in all their layouts, looked up or not", () => {
    const angle = (row: number, column: number): number => row / 10000 ** (column / 6);
    const cosines = table(6, 6, (row, column) => Math.cos(angle(row, column)));
    const positions = table(6, 6, (row, column) =>
      column % 2 === 0 ? Math.sin(angle(row, column)) : Math.cos(angle(row, column - 1)),
    );
    expect(multiplied(cosines)).toBe("constant: a table of sines and cosines");
    expect(multiplied({ ...cosines, shape: [1, 6, 1, 6] })).toBe("constant: a table of sines and cosines");
    expect(added(positions)).toBe("constant: a table of sines and cosines");
    const tokens = { name: "tokens", type: { elementType: "i64" as const, shape: [6] }, metadata: {} };
    const found = roles(
      { cosines, words: ramp(6, 6) },
      [
        node("Gather", "cosines tokens", "cos"),
        node("Gather", "words tokens", "embedded"),
        node("Mul", "embedded cos", "y"),
      ],
      [tokens],
    );
    expect(found["cosines"]).toBe("constant: a table of sines and cosines");
    expect(found["words"]).toBe('parameter: table of Gather "embedded"');
  });

  it("leaves the frequencies of angles, and takes the weights of a layer that ends in a sine", () => {
    const places = { name: "places", type: { elementType: "i64" as const, shape: [6, 1] }, metadata: {} };
    const angles = [
      node("Cast", "places", "p", { to: int(1) }),
      node("MatMul", "p frequencies", "a"),
      node("Concat", "a a", "both", { axis: int(1) }),
      node("Cos", "both", "y"),
    ];
    expect(roles({ frequencies: ramp(1, 3) }, angles, [places])["frequencies"]).toBe(
      "constant: frequencies of angles",
    );
    const siren = [node("MatMul", "x w", "a"), node("Sin", "a", "y")];
    expect(roles({ w: ramp(6, 3) }, siren)["w"]).toBe('parameter: weight of MatMul "a"');
    const features = [node("Cast", "places", "p", { to: int(1) }), node("MatMul", "p w", "y")];
    expect(roles({ w: ramp(1, 3) }, features, [places])["w"]).toBe('parameter: weight of MatMul "y"');
  });

  it("leaves single numbers, but for the bias of a layer of one output", () => {
    expect(added(ramp(1))).toBe("constant: a single number");
    expect(added(ramp())).toBe("constant: a scalar");
    const found = roles({ w: ramp(6, 1), b: ramp(1) }, [node("MatMul", "x w", "h"), node("Add", "h b", "y")]);
    expect(found["b"]).toBe('parameter: added by Add "y"');
  });

  it("takes tokens that stand beside or in place of values", () => {
    const hidden = { name: "hidden", type: { elementType: "bool" as const, shape: [6, 1] }, metadata: {} };
    const found = roles(
      {
        token: ramp(1, 6),
        first: ramp(1, 6),
        least: tensor(new Float32Array(6).fill(-1e9), [1, 6]),
        unread: ramp(2),
      },
      [
        node("Where", "hidden token x", "a"),
        node("Concat", "first a", "b", { axis: int(0) }),
        node("Where", "hidden least x", "c"),
      ],
      [f32("x", 6, 6), hidden],
    );
    expect(found["token"]).toBe('parameter: choice of Where "a"');
    expect(found["first"]).toBe('parameter: part of Concat "b"');
    expect(found["least"]).toBe("constant: a single number, repeated");
    expect(found["unread"]).toBe("constant: read by nothing");
  });

  it("lets the caller decide, who is told the default", () => {
    const initializers = [
      { name: "w", tensor: ramp(6, 6) },
      { name: "n", tensor: ramp(1) },
    ];
    const nodes = [of("MatMul", {}, ["x", "w"], ["h"]), of("Mul", {}, ["h", "n"])];
    const graph = { inputs: [f32("x", 6, 6)], initializers, nodes };
    const isParameter = (
      name: string,
      _: HostTensor,
      byDefault: { readonly isParameter: boolean },
    ): boolean => byDefault.isParameter || name === "n";
    const read = reading(graph, {}, { isParameter });
    expect(Object.keys(read.parameters)).toEqual(["w", "n"]);
    expect(read.initializers[1]).toEqual({
      name: "n",
      isParameter: true,
      reason: "isParameter says so; by default: a single number",
    });
    expect(Object.keys(reading(graph).parameters)).toEqual(["w"]);
  });

  const constant = (name: string, value: HostTensor): OnnxNode =>
    onnxNode("Constant", [], [name], { name, attributes: { value: { kind: "tensor", value } } });

  it("takes weights that Constant nodes hold, by the same rule, after the initializers", () => {
    const nodes = [
      constant("w", ramp(6, 6)),
      onnxNode("Constant", [], ["b"], {
        name: "b",
        attributes: { value_floats: floats([1, 2, 3, 4, 5, 7]) },
      }),
      onnxNode("Constant", [], ["half"], { name: "half", attributes: { value_float: float(0.5) } }),
      constant("places", tensor(Int32Array.of(1, 0))),
      node("Gemm", "x w b", "h"),
      node("MatMul", "h v", "m"),
      node("Mul", "m half", "y"),
    ];
    expect(roles({ v: ramp(6, 6) }, nodes)).toEqual({
      v: 'parameter: weight of MatMul "m"',
      w: 'parameter: weight of Gemm "h"',
      b: 'parameter: bias of Gemm "h"',
    });
    const graph = { inputs: [f32("x", 6, 6)], initializers: [{ name: "v", tensor: ramp(6, 6) }], nodes };
    const read = reading(graph);
    expect(read.parameters).toEqual({
      w: ramp(6, 6),
      b: tensor(Float32Array.of(1, 2, 3, 4, 5, 7)),
      v: ramp(6, 6),
    });
    expect(read.graph.inputs.map(({ name, role }) => `${name} ${role}`)).toEqual([
      "x batch",
      "b parameter",
      "w parameter",
      "v parameter",
    ]);
    const none = reading(graph, {}, { isParameter: () => false });
    expect(none.parameters).toEqual({});
    expect(none.initializers[1]).toEqual({
      name: "w",
      isParameter: false,
      reason: 'isParameter says so; by default: weight of Gemm "h"',
    });
  });

  it("takes no table of positions for positions, held by a Constant node or not", () => {
    const places = { name: "places", type: { elementType: "i64" as const, shape: [6, 1] }, metadata: {} };
    const nodes = [
      constant("table", ramp(6, 3)),
      node("Gather", "table places", "rows"),
      node("MatMul", "rows w", "a"),
      node("Cos", "a", "y"),
    ];
    expect(roles({ w: ramp(3, 3) }, nodes, [places])["w"]).toBe('parameter: weight of MatMul "a"');
  });

  it("leaves constants of graphs that were written here, lists them, and lets the caller train them", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", { dtype: "f32", shape: [2, 6] }, "batch");
    const y = builder.emitOne("MatMul", [x, builder.constant(ramp(6, 6))], {});
    const model = writeGraph(builder.finish({ y }));
    const { parameters, initializers } = readGraph(model);
    expect(parameters).toEqual({});
    expect(initializers.map(({ name: _, ...role }) => role)).toEqual([
      { isParameter: false, reason: "a constant of the graph that was written" },
    ]);
    const trained = readGraph(model, { isParameter: () => true });
    expect(Object.values(trained.parameters)).toEqual([ramp(6, 6)]);
    // Without origins nothing shows that this package wrote the file.
    const bare = readGraph(writeGraph(builder.finish({ y }), { origins: false }));
    expect(Object.values(bare.parameters)).toEqual([ramp(6, 6)]);
  });
});
