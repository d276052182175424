import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { mixedFloat16 } from "@mp/core";
import { MpError, tensor } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { FIXTURES, fixture } from "../test/fixtures.js";
import { opGraphs } from "../test/op-graphs.js";
import { trainingGraphs } from "../test/training-graphs.js";
import { decodeModel } from "./decode.js";
import { encodeModel } from "./encode.js";
import {
  float,
  int,
  ints,
  type OnnxAttribute,
  type OnnxModel,
  onnxGraph,
  onnxModel,
  onnxNode,
} from "./model.js";
import { ModelProtoSchema } from "./proto/onnx_pb.js";
import { writeGraph } from "./write/write.js";

/** The message read and rewritten by protobuf's own library, without fields that the schema does not know. */
const rewritten = (bytes: Uint8Array): Uint8Array =>
  toBinary(ModelProtoSchema, fromBinary(ModelProtoSchema, bytes, { readUnknownFields: false }));

const expectSchemaBytes = (model: OnnxModel): void => {
  const bytes = encodeModel(model);
  expect(Buffer.compare(bytes, rewritten(bytes))).toBe(0);
};

const withAttribute = (attribute: OnnxAttribute): OnnxModel =>
  onnxModel(onnxGraph("g", { nodes: [onnxNode("Op", [], ["y"], { attributes: { attribute } })] }));

describe("encodeModel", () => {
  it("gives the schema's bytes for every op", () => {
    for (const { graph } of opGraphs()) expectSchemaBytes(writeGraph(graph));
  });

  it("gives the schema's bytes for training steps", async () => {
    for (const graph of await trainingGraphs(mixedFloat16())) expectSchemaBytes(writeGraph(graph));
  });

  it.each(FIXTURES)("gives the schema's bytes for %s, which Python's onnx wrote", (name) => {
    expectSchemaBytes(decodeModel(fixture(name)));
  });

  it("gives the schema's bytes for initializers whose data lies elsewhere", () => {
    const external = [{ name: "w", type: { elementType: "f16", shape: [2, 300] }, metadata: {} }] as const;
    const bytes = encodeModel(onnxModel(onnxGraph("g")), { external });
    expect(Buffer.compare(bytes, rewritten(bytes))).toBe(0);
    const [initializer] = fromBinary(ModelProtoSchema, bytes).graph?.initializer ?? [];
    expect(initializer).toMatchObject({ name: "w", dataType: 10, dims: [2n, 300n], dataLocation: 1 });
  });

  it("writes every i64", () => {
    const values = [0n, 1n, 127n, 128n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n - 1n, -1n, -128n, -(2n ** 63n)];
    const model = withAttribute(ints(values));
    expectSchemaBytes(model);
    expect(decodeModel(encodeModel(model)).graph.nodes[0]?.attributes["attribute"]).toEqual(ints(values));
  });

  it("writes the numbers of f32", () => {
    for (const value of [0, -0, 1.5, 3.4028234663852886e38, 1e-45, Infinity, Number.NaN]) {
      const model = withAttribute(float(value));
      expectSchemaBytes(model);
      expect(decodeModel(encodeModel(model)).graph.nodes[0]?.attributes["attribute"]).toEqual(
        float(Math.fround(value)),
      );
    }
  });

  it.each([
    [float(1e39), "1e+39 is no f32"],
    [int(2n ** 63n), "9223372036854775808 is no i64"],
    [int(-(2n ** 63n) - 1n), "-9223372036854775809 is no i64"],
  ])("refuses %s", (attribute, message) => {
    expect(() => encodeModel(withAttribute(attribute))).toThrow(MpError);
    expect(() => encodeModel(withAttribute(attribute))).toThrow(message);
  });

  it("refuses what is no integer", () => {
    const model = onnxModel(
      onnxGraph("g", {
        inputs: [{ name: "x", type: { elementType: "f32", shape: [1.5] }, metadata: {} }],
      }),
    );
    expect(() => encodeModel(model)).toThrow("1.5 is no i64");
  });

  it("refuses a model of 2 GB before it takes memory for it", () => {
    const data = new Float32Array(2 ** 20);
    const initializers = Array.from({ length: 512 }, (_, index) => ({
      name: `w${index}`,
      tensor: tensor(data),
    }));
    expect(() => encodeModel(onnxModel(onnxGraph("g", { initializers })))).toThrow(
      /exceeds a protobuf's 2147483647, pass the large initializers as inputs/,
    );
  });
});
