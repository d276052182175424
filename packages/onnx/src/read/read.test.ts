import { printGraph, tensor } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { type Expectation, expectations, expectFixture } from "../../test/expectations.js";
import { fixture } from "../../test/fixtures.js";
import { f32, of, reading, refusal, text } from "../../test/small-models.js";
import { decodeModel } from "../decode.js";
import { float, int, ints, type OnnxAttributes, type OnnxModel, string } from "../model.js";
import { readGraph } from "./read.js";

const expected = { ...expectations("expected"), ...expectations("torch") };
const sizes = { batch: 2, length: 3 };

describe("readGraph on models of others", () => {
  it.each(Object.keys(expected))("%s computes what its maker says", (name) => {
    expectFixture(name, expected[name] as Expectation, { sizes });
  });

  it("leaves nothing of the arithmetic on shapes, and keeps indices as i32", () => {
    const shapes = printGraph(readGraph(decodeModel(fixture("shapes")), { sizes }).graph);
    expect(shapes).not.toMatch(/i64\[\d/);
    expect(shapes).toContain("Reshape(%0) {shape=[2,12]}  # head");
    expect(shapes).toContain("Slice(%9) {starts=[5] ends=[-1] axes=[1] steps=[-2]}");
    const indices = printGraph(readGraph(decodeModel(fixture("indices"))).graph);
    expect(indices).toContain("Gather(%1, %2) {axis=0}");
    // Casts tokens to i32 once, and best and top to i64 only for the sum and the output.
    expect(indices.match(/Cast\(/g)?.length).toBe(3);
  });

  it("makes floats with dimensions parameters, in scopes named after the exporter's modules", () => {
    const { graph, parameters } = readGraph(decodeModel(fixture("torch")), { sizes });
    expect(Object.keys(parameters)).toContain("embedding.weight");
    expect(graph.inputs.filter(({ role }) => role === "parameter").map(({ name }) => name)).toEqual(
      Object.keys(parameters),
    );
    expect(new Set(graph.nodes.map(({ origin }) => origin.scope))).toContain("head");
    const frozen = readGraph(decodeModel(fixture("torch")), { sizes, isParameter: () => false });
    expect(frozen.parameters).toEqual({});
    expect(frozen.graph.inputs.map(({ name }) => name)).toEqual(["tokens"]);
  });
});

describe("readGraph", () => {
  it("takes an output whose declared shape is stale, with a warning", () => {
    const messages: string[] = [];
    const onWarning = ({ message }: { readonly message: string }) => messages.push(message);
    const { graph } = reading({ nodes: [of("Relu")], outputs: [f32("y", 3, 2)] }, {}, { onWarning });
    expect(graph.outputs[0]?.value.shape).toEqual([2, 3]);
    expect(messages).toEqual(['onnx: output "y" is declared f32[3,2] and is f32[2, 3]']);
  });

  it("says what makes a model of bytes", () => {
    const wrong = (model: unknown): string => refusal(() => readGraph(model as OnnxModel));
    const remedy = "decodeModel(bytes) makes one";
    expect(wrong(new Uint8Array(3))).toBe(
      `MP_INVALID_ARGUMENT: readGraph: takes a model, got Uint8Array; ${remedy}`,
    );
    expect(wrong("m.onnx")).toBe(`MP_INVALID_ARGUMENT: readGraph: takes a model, got string; ${remedy}`);
    expect(wrong(undefined)).toContain("got undefined");
    expect(wrong(null)).toContain("MP_INVALID_ARGUMENT");
  });

  it("takes the defaults that ONNX gives", () => {
    expect(text(of("Softmax"))).toContain("Softmax(%0) {axis=1}");
    expect(text(of("LeakyRelu"))).toContain("{alpha=0.01}");
    expect(text(of("LeakyRelu", { alpha: float(Math.fround(0.2)) }))).toContain("{alpha=0.2}");
    expect(text(of("ReduceSum"))).toContain("{axes=[0,1] keepdims=true}");
    const overNone = { noop_with_empty_axes: int(1) };
    expect(text(of("ReduceSum", overNone))).toContain("ReduceSum(%0) {axes=[] keepdims=true}");
    expect(text(of("ReduceSumSquare", overNone))).toContain("ReduceSumSquare(%0) {axes=[] keepdims=true}");
    expect(text(of("Transpose"))).toContain("{perm=[1,0]}");
    expect(text(of("Split", { axis: int(1), num_outputs: int(2) }, ["x"], ["y", "z"]))).toContain(
      "{axis=1 split=[2,1]}",
    );
    expect(text(of("Min", {}, ["x", "x", "x"])).match(/Min\(/g)?.length).toBe(2);
  });

  describe("of convolutions", () => {
    const convolved = (attributes: OnnxAttributes, opType = "Conv"): string =>
      printGraph(
        reading({
          inputs: [f32("x", 1, 2, 7, 8), f32("w", 2, 2, 3, 4)],
          nodes: [of(opType, attributes, ["x", "w"])],
        }).graph,
      );

    it("takes the defaults", () => {
      expect(convolved({})).toContain("{strides=[1,1] pads=[0,0,0,0] dilations=[1,1] group=1}");
      expect(convolved({}, "ConvTranspose")).toContain("group=1 outputPadding=[0,0]}");
    });

    it("resolves automatic pads, of which an odd one goes where the name says", () => {
      const strides = ints([2, 1]);
      const pads = (name: string): string => convolved({ auto_pad: string(name), strides });
      expect(pads("SAME_UPPER")).toContain("pads=[1,1,1,2]");
      expect(pads("SAME_LOWER")).toContain("pads=[1,2,1,1]");
      expect(pads("VALID")).toContain("pads=[0,0,0,0]");
      expect(refusal(() => pads("SAME"))).toMatch(/^MP_UNSUPPORTED: .*pads by "SAME"/);
    });

    it("resolves the pads of a transposed one from the shape that it is to have", () => {
      const transposed = (attributes: OnnxAttributes): string => convolved(attributes, "ConvTranspose");
      expect(transposed({ output_shape: ints([8, 8]) })).toMatch(/f32\[1, 2, 8, 8\].* pads=\[1,2,0,1\]/);
      const same = { auto_pad: string("SAME_UPPER"), strides: ints([2, 2]) };
      expect(transposed(same)).toMatch(/f32\[1, 2, 14, 16\].* pads=\[0,1,1,1\]/);
      expect(transposed({ strides: ints([2, 2]), output_padding: ints([1, 0]) })).toContain(
        "f32[1, 2, 16, 18]",
      );
    });

    it("refuses a kernel shape that is not that of the kernels", () => {
      expect(refusal(() => convolved({ kernel_shape: ints([3, 3]) }))).toContain("kernels of [3,4]");
    });
  });

  it("takes an output that is not asked for as not there", () => {
    const weights = { name: "w", tensor: tensor(Float32Array.of(1, 1, 1)) };
    const { graph } = reading({
      nodes: [of("LayerNormalization", {}, ["x", "w"], ["y"])],
      initializers: [weights],
      outputs: [f32("y", 2, 3)],
    });
    expect(graph.outputs[0]?.value.shape).toEqual([2, 3]);
  });

  it("keeps outputs in the model's order, also where their names are numbers", () => {
    const nodes = [of("Abs", {}, ["x"], ["20"]), of("Neg", {}, ["x"], ["3"])];
    const { graph } = reading({ nodes, outputs: [f32("20", 2, 3), f32("3", 2, 3)] });
    expect(graph.outputs.map(({ name }) => name)).toEqual(["20", "3"]);
  });

  it("reads an input that an initializer gives a value as the initializer", () => {
    const w = tensor(new Float32Array(6), [2, 3]);
    const { graph, parameters } = reading({
      inputs: [f32("x", 2, 3), f32("w", 2, 3)],
      initializers: [{ name: "w", tensor: w }],
      nodes: [of("Add", {}, ["x", "w"])],
    });
    expect(graph.inputs.map(({ name, role }) => `${role} ${name}`)).toEqual(["batch x", "parameter w"]);
    expect(parameters["w"]).toBe(w);
  });

  const shape = { name: "s", tensor: tensor(BigInt64Array.of(-1n, 2n)) };
  it.each<[string, () => unknown, string]>([
    [
      "an op that the vocabulary lacks",
      () => reading({ nodes: [of("Det")] }),
      'MP_UNSUPPORTED: onnx: Det of opset 23 (node "n") is not read; export the model with operators of docs/onnx-operators.md in its place, or compute what it gives outside the model',
    ],
    [
      "a domain that the vocabulary lacks",
      () =>
        reading(
          { nodes: [{ ...of("Relu"), domain: "com.microsoft" }] },
          { opsets: { "": 23, "com.microsoft": 1 } },
        ),
      "MP_UNSUPPORTED: onnx: com.microsoft.Relu of opset 1",
    ],
    [
      "an attribute that nobody knows",
      () => reading({ nodes: [of("Relu", { slope: float(1) })] }),
      'MP_UNSUPPORTED: onnx: Relu of opset 23 (node "n") has the attribute "slope"',
    ],
    ["an operand too many", () => reading({ nodes: [of("Relu", {}, ["x", "x"])] }), 'has operand 1, "x"'],
    [
      "an output too many",
      () => reading({ nodes: [of("Relu", {}, ["x"], ["y", "z"])] }),
      'has output 1, "z"',
    ],
    ["an operand too few", () => reading({ nodes: [of("Add")] }), "MP_PARSE: onnx: Add of opset 23"],
    [
      "a meaning that the vocabulary lacks",
      () => reading({ nodes: [of("LpNormalization", { p: int(3) })] }),
      "is of the norm 3",
    ],
    [
      "a saturating cast",
      () => reading({ nodes: [of("Cast", { to: int(17) })] }),
      "MP_UNSUPPORTED: onnx: Cast of opset 23",
    ],
    [
      "an attribute of the wrong kind",
      () => reading({ nodes: [of("Softmax", { axis: string("1") })] }),
      'MP_PARSE: onnx: Softmax of opset 23 (node "n") has axis as string, not int',
    ],
    [
      "what type inference refuses",
      () => reading({ nodes: [of("MatMul", {}, ["x", "x"])] }),
      'MP_UNSUPPORTED: onnx: MatMul of opset 23 (node "n"): MatMul: inner sizes differ, [2, 3] by [2, 3]',
    ],
    [
      "a shape that is computed from data",
      () => reading({ nodes: [of("Cast", { to: int(7) }, ["x"], ["s"]), of("Reshape", {}, ["x", "s"])] }),
      'computes operand 1, "s", here it has to be known beforehand',
    ],
    [
      "a Reshape that does not divide",
      () => reading({ inputs: [f32("x", 3)], nodes: [of("Reshape", {}, ["x", "s"])], initializers: [shape] }),
      "MP_UNSUPPORTED",
    ],
    [
      "a value that nobody made",
      () => reading({ nodes: [of("Relu", {}, ["z"])] }),
      'MP_PARSE: onnx: value "z" is read before',
    ],
    [
      "a value made twice",
      () => reading({ nodes: [of("Relu"), of("Abs")] }),
      'MP_PARSE: onnx: value "y" is made twice',
    ],
    ["an output that nobody made", () => reading({ outputs: [f32("z", 1)] }), 'MP_PARSE: onnx: value "z"'],
    [
      "an output of another type than declared",
      () =>
        reading({
          nodes: [of("Relu")],
          outputs: [{ name: "y", type: { elementType: "i32", shape: [2, 3] }, metadata: {} }],
        }),
      'MP_PARSE: onnx: output "y" is declared i32[2,3] and is f32[2, 3]',
    ],
    [
      "opset 12",
      () => reading({ nodes: [of("Softmax")] }, { opsets: { "": 12 } }),
      'the model is of opset 12, where "Softmax" is not what it is now, convert it to one of 13 … 28',
    ],
    ["opset 29", () => reading({}, { opsets: { "": 29 } }), "the model is of opset 29"],
    [
      "a node of a domain without version",
      () => reading({ nodes: [of("Relu")] }, { opsets: {} }),
      "MP_PARSE",
    ],
    [
      "mp ops of another version",
      () => reading({}, { opsets: { "": 23, mp: 2 } }),
      "MP_UNSUPPORTED: onnx: mp 2",
    ],
    [
      "an input of a foreign type",
      () => reading({ inputs: [{ name: "x", type: { elementType: "DOUBLE", shape: [1] }, metadata: {} }] }),
      'MP_UNSUPPORTED: onnx: input "x" is DOUBLE',
    ],
    [
      "a size that nobody gave",
      () => reading({ inputs: [f32("x", "batch", 3)] }),
      'MP_INVALID_ARGUMENT: onnx: input "x" leaves a size open, pass sizes: { "batch": … }',
    ],
    ["a size without name", () => reading({ inputs: [f32("x", 2, "")] }), 'pass sizes: { "x[1]": … }'],
    [
      "indices beyond i32",
      () =>
        reading({
          nodes: [of("Gather", {}, ["x", "i"])],
          initializers: [{ name: "i", tensor: tensor(BigInt64Array.of(2n ** 31n)) }],
        }),
      'MP_UNSUPPORTED: onnx: Gather of opset 23 (node "n"): indices "i" exceed i32',
    ],
    [
      "pads that remove more than there is",
      () =>
        reading({
          nodes: [of("Pad", {}, ["x", "p"])],
          initializers: [{ name: "p", tensor: tensor(BigInt64Array.of(-1n, 0n, -2n, 0n)) }],
        }),
      'Pad of opset 23 (node "n") removes more than there is of [2, 3] by pads [-1, 0, -2, 0]',
    ],
  ])("refuses %s", (_, read, message) => {
    expect(refusal(read)).toContain(message);
  });

  it("does not evaluate what is large, however small its description", () => {
    const ends = { name: "n", tensor: tensor(BigInt64Array.of(2n ** 30n), []) };
    const zero = { name: "zero", tensor: tensor(BigInt64Array.of(0n), []) };
    const one = { name: "one", tensor: tensor(BigInt64Array.of(1n), []) };
    const { graph } = reading({
      nodes: [of("Range", {}, ["zero", "n", "one"], ["y"]), of("Cast", { to: int(1) }, ["y"], ["z"])],
      initializers: [ends, zero, one],
      outputs: [f32("z", 2 ** 30)],
    });
    expect(graph.nodes.map(({ op }) => op)).toEqual(["Range", "Cast"]);
  });

  it("stops evaluating when it has evaluated enough", () => {
    const values = { name: "c0", tensor: tensor(new BigInt64Array(256)) };
    const nodes = Array.from({ length: 4200 }, (_, index) => of("Neg", {}, [`c${index}`], [`c${index + 1}`]));
    const { graph } = reading({ nodes, initializers: [values] });
    expect(graph.nodes.filter(({ op }) => op === "Neg").length).toBe(4200 - 2 ** 20 / 256);
  });

  it("finds unnamed sizes by place", () => {
    const { graph } = reading(
      { inputs: [f32("x", "", 3)], nodes: [of("Relu")] },
      {},
      { sizes: { "x[0]": 7 } },
    );
    expect(graph.inputs[0]?.value.shape).toEqual([7, 3]);
  });
});
