import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bitsPerElement, SAFETENSORS_DTYPES } from "./dtypes.js";
import { parse } from "./parse.js";
import { serialize, serializeToChunks } from "./serialize.js";
import type { SafetensorsTensor, WritableTensor } from "./tensor.js";
import { arrayOf } from "./typed-arrays.js";

const fixture = (name: string): Uint8Array =>
  readFileSync(new URL(`../test/fixtures/python-0.8.0${name}.safetensors`, import.meta.url));

const zeros = (shape: readonly number[]): WritableTensor => ({
  dtype: "F32",
  shape,
  data: new Float32Array(shape.reduce((product, n) => product * n, 1)),
});

const anyTensor: fc.Arbitrary<SafetensorsTensor> = fc
  .record({
    dtype: fc.constantFrom(...SAFETENSORS_DTYPES),
    shape: fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 4 }),
  })
  .chain(({ dtype, shape: drawn }) => {
    // Packed elements fill their last byte.
    const shape = bitsPerElement[dtype] < 8 ? [...drawn, 4] : drawn;
    const size = (shape.reduce((product, n) => product * n, 1) * bitsPerElement[dtype]) / 8;
    const byte = fc.integer({ min: 0, max: dtype === "BOOL" ? 1 : 255 });
    return fc
      .array(byte, { minLength: size, maxLength: size })
      .map((bytes) => ({ dtype, shape, data: Uint8Array.from(bytes) }));
  });

/** Any well-formed string; names that break careless readers are likely. */
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
    const bytes = fixture("");
    const { tensors, metadata } = parse(bytes);
    expect([...metadata]).toEqual([
      ["format", "pt"],
      ["note", "é\u2028\x01"],
    ]);
    expect([...tensors].map(([name, read]) => [name, read.dtype, read.shape, arrayOf(read)])).toEqual([
      ["counter", "U64", [2], BigUint64Array.of(2n ** 63n, 7n)],
      ["step", "I64", [], BigInt64Array.of(2n ** 53n + 1n)],
      ["__proto__", "F32", [1], Float32Array.of(42)],
      ["empty", "F32", [0, 4], new Float32Array(0)],
      ["weight", "F32", [2, 3], Float32Array.of(0, 0.25, 0.5, 0.75, 1, 1.25)],
      ["index", "I32", [3], Int32Array.of(-1, 0, 2 ** 31 - 1)],
      ["\ue000", "BF16", [], Uint16Array.of(0x7fc0)],
      ["\u{1f600}", "BF16", [], Uint16Array.of(0x4049)],
      ['bias/é"\n', "F16", [2], Uint16Array.of(0x3e00, 0x8000)],
      ["scale", "F8_E4M3", [4], Uint8Array.of(0x38, 0x7e, 0x81, 0)],
      ["grad", "F8_E5M2", [3], Uint8Array.of(0x3c, 0x7b, 0x7c)],
      ["bytes", "U8", [5], Uint8Array.of(0, 1, 2, 254, 255)],
      ["mask", "BOOL", [3], Uint8Array.of(1, 0, 1)],
    ]);
    expect(Buffer.compare(serialize([...tensors].reverse(), [...metadata].reverse()), bytes)).toBe(0);
  });

  it("writes every dtype that the reference writer has, in its order", () => {
    const bytes = fixture("-dtypes");
    const { tensors, metadata } = parse(bytes);
    // The reference implementation writes no F6 dtypes, although it reads them.
    const written = SAFETENSORS_DTYPES.filter((dtype) => !dtype.startsWith("F6_"));
    expect([...tensors].map(([, { dtype }]) => dtype)).toEqual(written);
    expect(Buffer.compare(serialize([...tensors].reverse(), metadata), bytes)).toBe(0);
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
        const back = parse(bytes);
        expect(back.tensors).toEqual(new Map(tensors));
        expect(back.metadata).toEqual(new Map(metadata));
        expect(serialize([...tensors].reverse(), back.metadata)).toEqual(bytes);
        for (const { dtype, data } of back.tensors.values()) {
          const size = bitsPerElement[dtype] / 8;
          if (size > 1) expect(data.byteOffset % size).toBe(0);
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

  it("takes views of larger buffers, and those of another realm, as the elements they show", () => {
    const view = Float32Array.of(1, 2, 3).subarray(1, 2);
    const foreign = runInNewContext("Float32Array.of(1, 2, 3).subarray(1, 2)") as Float32Array;
    for (const data of [view, foreign, new DataView(view.buffer, 4, 4), Buffer.from(view.buffer, 4, 4)]) {
      const read = parse(serialize([["v", { dtype: "F32", shape: [1], data }]])).tensors.get("v");
      expect(read && arrayOf(read)).toEqual(Float32Array.of(2));
    }
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
    ["a bool of 2", [["a", { dtype: "BOOL", shape: [2], data: Uint8Array.of(0, 2) }]], /element 1 is 2/],
    ["no tensor", [["a", Float32Array.of(1) as unknown as WritableTensor]], /is no tensor/],
    ["undefined", [["a", undefined as unknown as WritableTensor]], /is no tensor/],
    ["a dtype of nobody", [["a", { ...zeros([1]), dtype: "f32" as "F32" }]], /is no tensor/],
    ["a list of numbers", [["a", { ...zeros([1]), data: [1] as unknown as Float32Array }]], /is no tensor/],
    [
      "another dtype's array",
      [["a", { dtype: "F16", shape: [2], data: Float32Array.of(1) }]],
      /"a" is F16, which Uint16Array or bytes \(Uint8Array\) hold, got Float32Array/,
    ],
    [
      "a wrong shape",
      [["a", { ...zeros([4]), shape: [3] }]],
      /shape \[3\] does not take the 16 bytes of its data/,
    ],
    ["a fractional shape", [["a", { ...zeros([4]), shape: [0.5, 8] }]], /does not take/],
    ["half a byte", [["a", { dtype: "F4", shape: [1], data: new Uint8Array(1) }]], /does not take/],
  ] as readonly [string, [string, WritableTensor][], RegExp][])("refuses %s", (_, tensors, message) => {
    expect(() => serialize(tensors)).toThrow(message);
    expect(() => serialize(tensors)).toThrow(
      expect.objectContaining({ name: "SafetensorsError", code: "SAFETENSORS_INVALID_ARGUMENT" }),
    );
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
