import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesPerElement, DTYPES, hostArrayOf } from "../dtype.js";
import { type HostTensor, tensor, zeros } from "../host-tensor.js";
import { hostTensorOfView, parse } from "./parse.js";
import { serialize, serializeToChunks } from "./serialize.js";

const fixture = readFileSync(
  new URL("../../test/fixtures/python-safetensors-0.8.0.safetensors", import.meta.url),
);

function read(bytes: Uint8Array): {
  tensors: Map<string, HostTensor>;
  metadata: ReadonlyMap<string, string>;
} {
  const { tensors, metadata } = parse(bytes);
  return {
    tensors: new Map([...tensors].map(([name, view]) => [name, hostTensorOfView(name, view)])),
    metadata,
  };
}

const anyTensor: fc.Arbitrary<HostTensor> = fc
  .record({
    dtype: fc.constantFrom(...DTYPES),
    shape: fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 4 }),
  })
  .chain(({ dtype, shape }) => {
    const size = shape.reduce((product, n) => product * n, 1) * bytesPerElement[dtype];
    const byte = fc.integer({ min: 0, max: dtype === "bool" ? 1 : 255 });
    return fc.array(byte, { minLength: size, maxLength: size }).map((bytes) => {
      return tensor(new hostArrayOf[dtype](Uint8Array.from(bytes).buffer), shape, dtype) as HostTensor;
    });
  });

/** Any well-formed string, with the names that break careless readers made likely. */
const anyName = fc.oneof(
  fc.constantFrom(
    "__proto__",
    "constructor",
    "",
    '"',
    "\\",
    "\0",
    "\ufeff",
    "\u{1f600}",
    "\ue000",
    "layer/0/w",
  ),
  fc.string({ unit: "binary" }).filter((name) => !/\p{Surrogate}/u.test(name) && name !== "__metadata__"),
);

describe("serialize", () => {
  it("writes the bytes of the reference writer", () => {
    const { tensors, metadata } = read(fixture);
    expect([...metadata]).toEqual([
      ["format", "pt"],
      ["note", "é\u2028\x01"],
    ]);
    expect(tensors.size).toBe(13);
    expect(tensors.get("weight")).toEqual(tensor(Float32Array.of(0, 0.25, 0.5, 0.75, 1, 1.25), [2, 3]));
    expect(tensors.get('bias/é"\n')).toEqual(tensor(Uint16Array.of(0x3e00, 0x8000), [2], "f16"));
    expect(tensors.get("\u{1f600}")).toEqual(tensor(Uint16Array.of(0x4049), [], "bf16"));
    expect(tensors.get("\ue000")?.data[0]).toBe(0x7fc0);
    expect(tensors.get("scale")).toEqual(tensor(Uint8Array.of(0x38, 0x7e, 0x81, 0), [4], "f8e4m3"));
    expect(tensors.get("grad")).toEqual(tensor(Uint8Array.of(0x3c, 0x7b, 0x7c), [3], "f8e5m2"));
    expect(tensors.get("step")).toEqual(tensor(BigInt64Array.of(2n ** 53n + 1n), []));
    expect(tensors.get("counter")).toEqual(tensor(BigUint64Array.of(2n ** 63n, 7n), [2], "u64"));
    expect(tensors.get("index")).toEqual(tensor(Int32Array.of(-1, 0, 2 ** 31 - 1)));
    expect(tensors.get("mask")).toEqual(tensor(Uint8Array.of(1, 0, 1), [3], "bool"));
    expect(tensors.get("bytes")).toEqual(tensor(Uint8Array.of(0, 1, 2, 254, 255)));
    expect(tensors.get("empty")).toEqual(zeros([0, 4]));
    expect(tensors.get("__proto__")).toEqual(tensor(Float32Array.of(42)));
    expect(Buffer.compare(serialize([...tensors].reverse(), [...metadata].reverse()), fixture)).toBe(0);
  });

  it("round trips any tensors and metadata, whatever their names and order, to the same bytes", () => {
    const entries = fc.uniqueArray(fc.tuple(anyName, anyTensor), {
      selector: ([name]) => name,
      maxLength: 8,
    });
    const pairs = fc.uniqueArray(fc.tuple(anyName, anyName), { selector: ([name]) => name, maxLength: 4 });
    fc.assert(
      fc.property(entries, pairs, (tensors, metadata) => {
        const bytes = serialize(tensors, metadata);
        expect(new DataView(bytes.buffer).getUint32(0, true) % 8).toBe(0);
        const back = read(bytes);
        expect(back.tensors).toEqual(new Map(tensors));
        expect(back.metadata).toEqual(new Map(metadata));
        expect(serialize([...tensors].reverse(), back.metadata)).toEqual(bytes);
        for (const { dtype, bytes: view } of parse(bytes).tensors.values()) {
          expect(view.byteOffset % bytesPerElement[dtype]).toBe(0);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("shares the tensors' memory between chunks and tensors", () => {
    const big = zeros([1000]);
    const [header, data, ...rest] = serializeToChunks([
      ["big", big],
      ["none", zeros([0])],
    ]);
    expect(header?.length).toBe(8 + 128);
    expect(data?.buffer).toBe(big.data.buffer);
    expect(rest).toEqual([]);
  });

  it("takes views of larger buffers as the elements they show", () => {
    const view = Float32Array.of(1, 2, 3).subarray(1, 2);
    expect(read(serialize([["v", tensor(view)]])).tensors.get("v")).toEqual(tensor(Float32Array.of(2)));
  });

  it.each([
    [
      "a name twice",
      [
        ["a", zeros([1])],
        ["a", zeros([2])],
      ],
      /"a" is given twice/,
    ],
    ["the format's key", [["__metadata__", zeros([1])]], /rename the tensor/],
    ["a lone surrogate", [["\ud800", zeros([1])]], /lone surrogate/],
    ["65 dimensions", [["a", zeros(new Array<number>(65).fill(1))]], /65 dimensions/],
    ["a bool of 2", [["a", tensor(Uint8Array.of(0, 2), [2], "bool")]], /element 1 is 2/],
    ["no tensor", [["a", Float32Array.of(1) as unknown as HostTensor]], /is not a host tensor/],
    ["undefined", [["a", undefined as unknown as HostTensor]], /is not a host tensor/],
    [
      "a foreign array",
      [["a", { dtype: "f16", shape: [1], data: Float32Array.of(1) } as unknown as HostTensor]],
      /is not a host tensor/,
    ],
    ["a wrong shape", [["a", { ...zeros([4]), shape: [3] }]], /shape \[3\] does not hold its 4 elements/],
    ["a fractional shape", [["a", { ...zeros([4]), shape: [0.5, 8] }]], /does not hold/],
  ] as readonly [string, [string, HostTensor][], RegExp][])("refuses %s", (_, tensors, message) => {
    expect(() => serialize(tensors)).toThrow(message);
    expect(() => serialize(tensors)).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
  });

  it.each([
    [
      "a key twice",
      [
        ["a", "1"],
        ["a", "2"],
      ],
      /"a" is given twice/,
    ],
    ["a number", [["a", 1 as unknown as string]], /metadata of "a" must be a string, got number/],
    ["a lone surrogate", [["a", "\udfff"]], /lone surrogate/],
  ] as readonly [string, [string, string][], RegExp][])(
    "refuses metadata with %s",
    (_, metadata, message) => {
      expect(() => serialize([], metadata)).toThrow(message);
    },
  );
});
