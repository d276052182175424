import { MpError } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { FIXTURES, fixture } from "../test/fixtures.js";
import { type Bytes, bytes, data, int, tag, text, varint } from "../test/wire-bytes.js";
import type { OnnxProblem } from "./problem.js";
import { scanModel } from "./scan.js";
import { defaultScanLimits, type ScanLimits } from "./scan-limits.js";

// Field numbers of onnx.proto.
const MODEL = { irVersion: 1, producer: 2, graph: 7, opset: 8 };
const GRAPH = { node: 1, name: 2, initializer: 5, input: 11 };
const NODE = { input: 1, name: 3, opType: 4, attribute: 5 };
const ATTRIBUTE = { f: 2, i: 3, graph: 6, floats: 7, ints: 8 };
const TENSOR = { dims: 1, floatData: 4, raw: 9 };

const graph = (...parts: readonly Bytes[]): Uint8Array => bytes(data(MODEL.graph, parts.flat()));
const node = (...parts: readonly Bytes[]): Bytes => data(GRAPH.node, parts.flat());
const attribute = (...parts: readonly Bytes[]): Uint8Array => graph(node(data(NODE.attribute, parts.flat())));

function refusal(
  input: Uint8Array,
  limits?: Partial<ScanLimits>,
): { problem: unknown; offset: unknown; limit: unknown } {
  try {
    scanModel(input, limits);
  } catch (error) {
    if (!MpError.is(error, "MP_PARSE")) throw error;
    const { problem, offset, limit } = error.details;
    expect(error.message).toContain(`byte ${offset}`);
    return { problem, offset, limit };
  }
  throw new Error("the scan accepted it");
}

function nested(levels: number): Uint8Array {
  let inner: Bytes = text(GRAPH.name, "g");
  for (let level = 0; level < levels; level++) {
    inner = node(data(NODE.attribute, data(ATTRIBUTE.graph, inner)));
  }
  return bytes(data(MODEL.graph, inner));
}

describe("scanModel", () => {
  it("counts what Python's onnx wrote", () => {
    expect(scanModel(fixture("mlp"))).toEqual({
      depth: 7,
      messages: 24,
      fields: 75,
      numbers: 4,
      nodes: 3,
      tensors: 3,
      tensorBytes: 4 * (12 + 3) + 8,
    });
    for (const name of FIXTURES) expect(scanModel(fixture(name)).nodes).toBeGreaterThan(0);
  });

  it.each<[OnnxProblem, string, Uint8Array, number]>([
    ["truncated", "a tag without its value", bytes(tag(MODEL.irVersion, 0)), 1],
    ["truncated", "a varint that stops", bytes(tag(MODEL.irVersion, 0), [0x80, 0x80]), 1],
    ["truncated", "a length beyond the file", bytes(tag(MODEL.graph, 2), varint(5), [0]), 0],
    ["truncated", "a length of 2^60", bytes(tag(MODEL.graph, 2), varint(2 ** 60)), 0],
    ["truncated", "a string beyond its message", graph([...tag(GRAPH.name, 2), 9]), 2],
    ["truncated", "a submessage beyond its message", graph([...tag(GRAPH.node, 2), 3, 0, 0]), 2],
    ["truncated", "a fixed32 cut short", attribute([...tag(ATTRIBUTE.f, 5), 0, 0, 0]), 6],
    ["truncated", "packed floats of 5 bytes", attribute(data(ATTRIBUTE.floats, [0, 0, 0, 0, 0])), 6],
    ["truncated", "a packed varint beyond its field", attribute(data(ATTRIBUTE.ints, [0x80]), [1]), 8],
    ["invalid-varint", "11 bytes", bytes(tag(1, 0), [...new Array(10).fill(0xff), 1]), 1],
    ["invalid-varint", "65 bits", bytes(tag(1, 0), [...new Array(9).fill(0xff), 2]), 1],
    ["invalid-varint", "a padded value", bytes(tag(1, 0), [0x81, 0x80, 0x00]), 1],
    ["invalid-varint", "a padded length", bytes(tag(MODEL.graph, 2), [0x80, 0x00]), 1],
    ["invalid-tag", "field 0", bytes([0x02, 0x00]), 0],
    ["invalid-tag", "field 2^29", bytes(tag(2 ** 29, 0), [0]), 0],
    ["invalid-tag", "wire type 6", bytes(tag(30, 6)), 0],
    ["group", "a group in an unknown field", bytes(tag(30, 3), tag(30, 4)), 0],
    ["group", "a group in a known field", bytes(tag(MODEL.graph, 3), tag(MODEL.graph, 4)), 0],
    ["group", "the end of no group", bytes(tag(30, 4)), 0],
    ["wire-type", "a number where a graph belongs", bytes(int(MODEL.graph, 3)), 0],
    ["wire-type", "bytes where a number belongs", bytes(data(MODEL.irVersion, [1])), 0],
    ["wire-type", "a fixed64 where a fixed32 belongs", attribute(tag(ATTRIBUTE.f, 1), [0, 0, 0, 0]), 6],
    ["duplicate-field", "two graphs", bytes(data(MODEL.graph, []), data(MODEL.graph, [])), 2],
    ["duplicate-field", "two op types", graph(node(text(NODE.opType, "A"), text(NODE.opType, "B"))), 7],
    ["invalid-utf8", "a lone continuation byte", bytes(data(MODEL.producer, [0x61, 0xbf])), 0],
    ["invalid-utf8", "an overlong slash", bytes(data(MODEL.producer, [0xc0, 0xaf])), 0],
    ["invalid-utf8", "a surrogate", bytes(data(MODEL.producer, [0xed, 0xa0, 0x80])), 0],
  ])("refuses %s: %s", (problem, _, input, offset) => {
    expect(refusal(input)).toEqual({ problem, offset, limit: undefined });
  });

  it("accepts what protobuf allows: unknown fields, unpacked and packed numbers, an empty file", () => {
    const ints = [int(ATTRIBUTE.ints, 1), data(ATTRIBUTE.ints, [2, 3])].flat();
    expect(scanModel(attribute(ints)).numbers).toBe(3);
    const negative: Bytes = [...tag(ATTRIBUTE.i, 0), ...new Array(9).fill(0xff), 1];
    expect(scanModel(attribute(negative)).fields).toBe(4);
    const unknown = bytes(
      int(100, 7),
      data(101, [0xff]),
      tag(102, 5),
      [0, 0, 0, 0],
      tag(103, 1),
      varint(0),
      [0, 0, 0, 0, 0, 0, 0],
    );
    expect(scanModel(unknown).fields).toBe(4);
    expect(scanModel(new Uint8Array()).messages).toBe(1);
  });

  it("does not look for messages in an unknown field", () => {
    const deep = nested(200);
    expect(scanModel(bytes(data(100, [...deep]))).depth).toBe(1);
  });

  it("nests 64 messages and not 65, without recursion of the attacker's choosing", () => {
    expect(refusal(nested(30)).problem).toBe("too-deep");
    // Model and graph, then three messages a level.
    expect(scanModel(nested(20)).depth).toBe(62);
    expect(refusal(nested(300)).problem).toBe("too-deep");
  });

  const tensor = (...parts: readonly Bytes[]): Bytes => data(GRAPH.initializer, parts.flat());
  const small = graph(
    node(text(NODE.name, "abc")),
    node(),
    tensor(int(TENSOR.dims, 1), data(TENSOR.raw, [0, 0, 0, 0])),
    tensor(data(TENSOR.floatData, [0, 0, 0, 0])),
  );
  const found: Readonly<Record<keyof ScanLimits, number>> = {
    maxBytes: small.length,
    maxDepth: 3,
    maxMessages: 6,
    maxFields: 9,
    maxNumbers: 2,
    maxStringBytes: 3,
    maxNodes: 2,
    maxTensors: 2,
    maxTensorBytes: 8,
  };

  it.each(Object.entries(found))("holds %s: %i is accepted, one less is not", (name, value) => {
    expect(scanModel(small, { [name]: value }).fields).toBe(9);
    const { limit, problem } = refusal(small, { [name]: value - 1 });
    expect(limit).toBe(value - 1);
    expect(problem).not.toBe("truncated");
    expect(defaultScanLimits[name as keyof ScanLimits]).toBeGreaterThan(value);
  });
});
