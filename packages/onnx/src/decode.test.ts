import { DTYPES, type HostTensor, MpError, tensor } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { FIXTURES, fixture } from "../test/fixtures.js";
import { bytes, data, int, text } from "../test/wire-bytes.js";
import { decodeModel } from "./decode.js";
import { encodeModel } from "./encode.js";
import { onnxNode } from "./model.js";

const bitsOf = ({ data: { buffer, byteOffset, byteLength } }: HostTensor): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("hex");

function refusal(input: Uint8Array): unknown {
  try {
    decodeModel(input);
  } catch (error) {
    if (MpError.is(error)) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "accepted";
}

describe("decodeModel on models written by Python's onnx", () => {
  it("reads nodes, attributes, initializers, types and metadata", () => {
    const model = decodeModel(fixture("mlp"));
    expect({ ...model, graph: undefined, opsets: { ...model.opsets } }).toEqual({
      irVersion: 11,
      opsets: { "": 23 },
      producerName: "fixture",
      producerVersion: "1",
      functions: [],
      metadata: {},
      graph: undefined,
    });
    const { graph } = model;
    expect(graph.nodes[0]).toEqual(
      onnxNode("Gemm", ["x", "w", "b"], ["h"], {
        name: "gemm",
        attributes: { alpha: { kind: "float", value: 0.5 }, transB: { kind: "int", value: 0n } },
        metadata: { "mp.scope": "encoder/é" },
      }),
    );
    expect(graph.initializers.map(({ name }) => name)).toEqual(["w", "b", "axes"]);
    expect(graph.initializers[1]?.tensor).toEqual(tensor(Float32Array.of(1, -2, 0.5)));
    expect(graph.initializers[2]?.tensor).toEqual(tensor(BigInt64Array.of(1n)));
    expect(graph.inputs).toEqual([{ name: "x", type: { elementType: "f32", shape: [2, 4] }, metadata: {} }]);
  });

  it("reads every dtype from raw data and from the typed fields, bit for bit alike", () => {
    const { initializers } = decodeModel(fixture("dtypes")).graph;
    const seen = new Set<string>();
    for (let index = 0; index < initializers.length; index += 2) {
      const [typed, raw] = [initializers[index], initializers[index + 1]];
      if (typed === undefined || raw === undefined) throw new Error("odd number of initializers");
      expect(`${raw.name} ${bitsOf(raw.tensor)}`).toBe(
        `${typed.name.replace("typed", "raw")} ${bitsOf(typed.tensor)}`,
      );
      expect(raw.tensor.dtype).toBe(typed.tensor.dtype);
      seen.add(raw.tensor.dtype);
    }
    expect([...seen].sort()).toEqual([...DTYPES].sort());
    const named = (name: string): unknown =>
      initializers.find((initializer) => initializer.name === name)?.tensor.data;
    expect(named("FLOAT16.raw")).toEqual(Uint16Array.of(0x3c00, 0x7bff, 1));
    expect(named("BFLOAT16.typed")).toEqual(Uint16Array.of(0x3f80, 0xff62, 0x0001));
    expect(named("UINT64.typed")).toEqual(BigUint64Array.of(1n, 0n, 2n ** 64n - 1n));
  });

  it("reads every kind of attribute, subgraphs included", () => {
    const [node] = decodeModel(fixture("attributes")).graph.nodes;
    const inner = tensor(BigInt64Array.of(1n, 2n), [2, 1]);
    const body = expect.objectContaining({
      name: "body",
      nodes: [onnxNode("Neg", ["x"], ["z"], { name: "inner" })],
    });
    expect(node?.inputs).toEqual(["x", "", "x"]);
    expect({ ...node?.attributes }).toEqual({
      a_float: { kind: "float", value: Math.fround(0.1) },
      an_int: { kind: "int", value: -(2n ** 63n) },
      a_string: { kind: "string", value: "é\n" },
      a_tensor: { kind: "tensor", value: inner },
      a_graph: { kind: "graph", value: body },
      some_floats: { kind: "floats", value: [1.5, -2.5] },
      some_ints: { kind: "ints", value: [3n, -4n] },
      some_strings: { kind: "strings", value: ["a", ""] },
      some_tensors: { kind: "tensors", value: [inner, inner] },
      some_graphs: { kind: "graphs", value: [body] },
    });
  });

  it("reads sizes that are not numbers and takes both names of ONNX's domain for one", () => {
    const { graph, opsets } = decodeModel(fixture("dynamic"));
    expect({ ...opsets }).toEqual({ "": 23 });
    expect(graph.inputs[0]?.type).toEqual({ elementType: "f32", shape: ["batch", "", 3] });
    expect(graph.outputs[0]?.type).toEqual({ elementType: "f32" });
    expect(graph.valueInfos[0]?.type).toEqual({ elementType: "DOUBLE", shape: [1] });
    expect(graph.nodes[0]?.domain).toBe("");
  });

  it("reads functions with references to their caller's attributes", () => {
    const [scaled] = decodeModel(fixture("function")).functions;
    expect(scaled?.attributes).toEqual(["alpha"]);
    expect({ ...scaled?.defaults }).toEqual({ slope: { kind: "float", value: 0.25 } });
    expect({ ...scaled?.nodes[1]?.attributes }).toEqual({
      alpha: { kind: "reference", value: "slope", of: "float" },
    });
  });

  it.each(FIXTURES)("writes %s back so that it reads the same", (name) => {
    const model = decodeModel(fixture(name));
    expect(decodeModel(encodeModel(model))).toEqual(model);
  });

  it.each([
    ["external-data", 'initializer "w" keeps its data in another file'],
    ["double", 'initializer "d" is DOUBLE, which has no counterpart here'],
    ["sequence", 'value "s" is no tensor but a sequenceType'],
    ["sparse", "has sparse initializers"],
  ])("refuses %s as unsupported", (name, message) => {
    expect(refusal(fixture(name))).toMatch(/^MP_UNSUPPORTED: onnx: /);
    expect(refusal(fixture(name))).toContain(message);
  });
});

describe("decodeModel on ill-formed models", () => {
  it.each([["m.onnx"], [undefined], [[8, 1]], [new Float32Array(2)]])("takes bytes and not %s", (given) => {
    expect(() => decodeModel(given as unknown as Uint8Array)).toThrow(
      /^decodeModel: takes the file's bytes, a Uint8Array, got .*: await readFile\(path\)$/,
    );
  });

  const initializer = (...parts: readonly (readonly number[])[]): Uint8Array =>
    bytes(data(7, data(5, [parts.flat(), text(8, "w")].flat())));

  it.each([
    ["no graph", bytes(int(1, 11)), "the model has no graph"],
    [
      "an opset twice",
      bytes(data(7, []), data(8, int(2, 3)), data(8, [text(1, "ai.onnx"), int(2, 4)].flat())),
      'opset_import has "" twice',
    ],
    ["no element type", initializer(int(1, 1)), 'initializer "w" has element type 0'],
    ["an unknown element type", initializer(int(2, 99)), "element type 99"],
    [
      "less data than elements",
      initializer(int(2, 1), int(1, 2), data(9, [0, 0, 0, 0])),
      "8 bytes, but has 4",
    ],
    ["more data than elements", initializer(int(2, 2), int(1, 1), data(9, [0, 0])), "1 bytes, but has 2"],
    ["huge dimensions over no data", initializer(int(2, 2), int(1, 2 ** 40)), "but has 0"],
    [
      "a product beyond 2^53",
      initializer(int(2, 2), int(1, 2 ** 40), int(1, 2 ** 40)),
      "of [1099511627776, 1099511627776] is too large",
    ],
    [
      "256 dimensions",
      initializer(int(2, 2), ...new Array<readonly number[]>(256).fill(int(1, 1)), data(9, [1])),
      "has 256 dimensions",
    ],
    ["a negative dimension", initializer(int(2, 2), [8, ...new Array(9).fill(0xff), 1]), "a dimension of -1"],
    [
      "data twice",
      initializer(int(2, 6), int(1, 1), data(9, [0, 0, 0, 0]), data(5, [1])),
      "rawData and int32Data",
    ],
    ["data of another type", initializer(int(2, 6), int(1, 1), data(7, [1])), "is i32 and has int64Data"],
    ["a bool of 2", initializer(int(2, 9), int(1, 1), data(9, [2])), "element 0 is 2"],
    ["a u8 of 256", initializer(int(2, 2), int(1, 1), data(5, [0x80, 0x02])), "element 0 is 256"],
    ["an f16 of 17 bits", initializer(int(2, 10), int(1, 1), data(5, [0x80, 0x80, 0x04])), "is 65536"],
    [
      "an attribute twice",
      bytes(
        data(
          7,
          data(
            1,
            [0, 1].flatMap(() => data(5, [text(1, "axis"), int(20, 2), int(3, 1)].flat())),
          ),
        ),
      ),
      'list of attributes has "axis" twice',
    ],
    [
      "a tensor attribute without tensor",
      bytes(data(7, data(1, data(5, [text(1, "value"), int(20, 4)].flat())))),
      'attribute "value" of node "" has no value',
    ],
  ])("refuses %s", (_, input, message) => {
    expect(refusal(input)).toMatch(/^MP_PARSE: onnx: /);
    expect(refusal(input)).toContain(message);
  });

  it("takes __proto__ for a name like any other", () => {
    const entry = [text(1, "__proto__"), text(2, "polluted")].flat();
    const { metadata } = decodeModel(bytes(data(7, []), data(14, entry)));
    expect(Object.entries(metadata)).toEqual([["__proto__", "polluted"]]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("gives tensors memory of their own", () => {
    const file = initializer(int(2, 2), int(1, 1), data(9, [7]));
    const { graph } = decodeModel(file);
    file.fill(0);
    expect(graph.initializers[0]?.tensor.data[0]).toBe(7);
  });
});
