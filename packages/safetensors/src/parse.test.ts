import { describe, expect, it } from "vitest";
import { SafetensorsError } from "./errors.js";
import type { SafetensorsLimits } from "./limits.js";
import { parse } from "./parse.js";
import { headerLength, parseHeader } from "./parse-header.js";
import { SAFETENSORS_PROBLEMS, type SafetensorsProblem } from "./problem.js";
import { load } from "./save.js";
import { arrayOf } from "./typed-arrays.js";

/** A file with this header, as text or bytes, and `dataBytes` bytes of data. */
function file(header: string | Uint8Array, dataBytes = 0): Uint8Array {
  const text = typeof header === "string" ? new TextEncoder().encode(header) : header;
  const bytes = new Uint8Array(8 + text.length + dataBytes);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 8);
  return bytes;
}

const entry = (dtype: string, shape: string, offsets: string) =>
  `{"dtype":"${dtype}","shape":[${shape}],"data_offsets":[${offsets}]}`;

function withLength(declared: bigint, bytes = 16): Uint8Array {
  const out = new Uint8Array(bytes);
  new DataView(out.buffer).setBigUint64(0, declared, true);
  return out;
}

const latin1 = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
const U8 = entry("U8", "2", "0,2");

const refused: [SafetensorsProblem, string, Uint8Array, SafetensorsLimits?][] = [
  ["file-too-short", "empty file", new Uint8Array(0)],
  ["file-too-short", "seven bytes", new Uint8Array(7)],
  ["header-too-large", "one above the cap", withLength(100_000_001n)],
  ["header-too-large", "2^64 - 1", withLength(2n ** 64n - 1n)],
  ["header-too-large", "a length whose low half is small", withLength(2n ** 32n + 2n)],
  ["header-too-large", "a cap of one's own", file(`{"a":${U8}}`, 2), { maxHeaderBytes: 16 }],
  ["header-beyond-file", "one byte more than there is", withLength(9n)],
  ["header-start", "no header", withLength(0n)],
  ["header-start", "a leading space", file(" {}")],
  ["header-start", "an array", file("[]")],
  ["header-start", "a byte-order mark", file("\ufeff{}")],
  ["invalid-utf8", "a stray byte", file(latin1('{"\xff":1}'))],
  ["invalid-utf8", "an overlong form", file(latin1('{"\xc0\xaf":1}'))],
  ["invalid-utf8", "an encoded surrogate", file(latin1('{"\xed\xa0\x80":1}'))],
  ["invalid-utf8", "a sequence cut by an escape", file(latin1('{"\xc3\\n\xa9":1}'))],
  ["invalid-utf8", "a high surrogate alone", file('{"\\ud800":1}')],
  ["invalid-utf8", "a low surrogate alone", file('{"\\udc00":1}')],
  ["invalid-utf8", "two high surrogates", file('{"\\ud800\\ud800":1}')],
  ["invalid-json", "an open object", file("{")],
  ["invalid-json", "an open string", file('{"a')],
  ["invalid-json", "a trailing comma", file(`{"a":${U8},}`, 2)],
  ["invalid-json", "a missing comma", file(`{"a":${U8}"b":${U8}}`, 2)],
  ["invalid-json", "text after the object", file("{}x")],
  ["invalid-json", "a tab as padding", file("{}\t")],
  ["invalid-json", "a NUL as padding", file("{}\0")],
  ["invalid-json", "a control character in a string", file('{"\n":1}')],
  ["invalid-json", "an unknown escape", file('{"\\x":1}')],
  ["invalid-json", "a short unicode escape", file('{"\\u12":1}')],
  ["invalid-json", "single quotes", file("{'a':1}")],
  ["invalid-json", "a number for a tensor", file('{"a":1}')],
  ["invalid-json", "null for a tensor", file('{"a":null}')],
  ["invalid-json", "a negative dimension", file(`{"a":${entry("U8", "-1", "0,0")}}`)],
  ["invalid-json", "a fraction", file(`{"a":${entry("U8", "1.0", "0,1")}}`, 1)],
  ["invalid-json", "an exponent", file(`{"a":${entry("U8", "1e0", "0,1")}}`, 1)],
  ["invalid-json", "a leading zero", file(`{"a":${entry("U8", "01", "0,1")}}`, 1)],
  ["invalid-json", "a number in quotes", file(`{"a":${entry("U8", '"1"', "0,1")}}`, 1)],
  ["invalid-json", "a nested shape", file(`{"a":${entry("U8", "[1]", "0,1")}}`, 1)],
  ["invalid-json", "deep nesting", file(`{"a":${"[".repeat(200_000)}`)],
  ["invalid-json", "a number in the metadata", file('{"__metadata__":{"a":1}}')],
  ["invalid-json", "an object in the metadata", file('{"__metadata__":{"a":{}}}')],
  ["invalid-json", "metadata that is a string", file('{"__metadata__":"a"}')],
  [
    "duplicate-key",
    "a tensor twice, the same bytes",
    file(`{"a":${U8},"a":${entry("BOOL", "2", "0,2")}}`, 2),
  ],
  ["duplicate-key", "a tensor twice, once escaped", file(`{"a":${U8},"\\u0061":${U8}}`, 2)],
  ["duplicate-key", "a field twice", file('{"a":{"dtype":"U8","dtype":"I8"}}')],
  ["duplicate-key", "a metadata key twice", file('{"__metadata__":{"a":"1","a":"2"}}')],
  ["duplicate-key", "metadata twice", file('{"__metadata__":{},"__metadata__":{}}')],
  ["duplicate-key", "__proto__ twice", file(`{"__proto__":${U8},"__proto__":${U8}}`, 2)],
  ["unknown-field", "an extra field", file('{"a":{"dtype":"U8","strides":[1]}}')],
  ["unknown-field", "__proto__ as a field", file('{"a":{"__proto__":{"dtype":"U8"}}}')],
  ["missing-field", "no fields", file('{"a":{}}')],
  ["missing-field", "no offsets", file('{"a":{"dtype":"U8","shape":[1]}}', 1)],
  ["number-too-large", "2^53", file(`{"a":${entry("U8", "9007199254740992", "0,1")}}`, 1)],
  [
    "number-too-large",
    "2^53 + 1, which JSON.parse rounds",
    file(`{"a":${entry("U8", "9007199254740993", "0,1")}}`),
  ],
  ["number-too-large", "2^64", file(`{"a":${entry("U8", "1", "0,18446744073709551616")}}`)],
  ["number-too-large", "a product beyond 2^53", file(`{"a":${entry("U8", "94906267,94906267", "0,1")}}`)],
  [
    "number-too-large",
    "a product beyond 2^53 that a 0 would hide",
    file(`{"a":${entry("F32", "9007199254740991,9007199254740991,0", "0,0")}}`),
  ],
  ["number-too-large", "a byte count beyond 2^53", file(`{"a":${entry("I64", "9007199254740991", "0,1")}}`)],
  ["unknown-dtype", "a dtype of nobody", file(`{"a":${entry("F17", "1", "0,1")}}`, 1)],
  ["unknown-dtype", "lower case", file(`{"a":${entry("f32", "1", "0,4")}}`, 4)],
  ["unknown-dtype", "a name that objects inherit", file(`{"a":${entry("constructor", "1", "0,4")}}`, 4)],
  ["invalid-offsets", "end before begin", file(`{"a":${entry("U8", "0", "2,1")}}`, 2)],
  ["invalid-offsets", "one offset", file(`{"a":${entry("U8", "1", "0")}}`, 1)],
  ["invalid-offsets", "three offsets", file(`{"a":${entry("U8", "1", "0,1,2")}}`, 1)],
  ["size-mismatch", "fewer bytes than elements", file(`{"a":${entry("F32", "2", "0,4")}}`, 4)],
  ["size-mismatch", "packed elements that do not fill a byte", file(`{"a":${entry("F4", "3", "0,2")}}`, 2)],
  ["size-mismatch", "a scalar of no bytes", file(`{"a":${entry("U8", "", "0,0")}}`)],
  ["overlap", "the same bytes twice", file(`{"a":${U8},"b":${U8}}`, 2)],
  ["overlap", "by one byte", file(`{"a":${U8},"b":${entry("U8", "2", "1,3")}}`, 3)],
  ["overlap", "nothing, inside a tensor", file(`{"a":${U8},"b":${entry("U8", "0", "1,1")}}`, 2)],
  ["hole", "before the first", file(`{"a":${entry("U8", "2", "1,3")}}`, 3)],
  ["hole", "between two", file(`{"b":${entry("U8", "1", "3,4")},"a":${U8}}`, 4)],
  ["data-missing", "a file cut short", file(`{"a":${U8}}`, 1)],
  ["data-left-over", "a byte too many", file(`{"a":${U8}}`, 3)],
  ["data-left-over", "bytes of no tensor", file("{}", 1)],
  ["too-many-entries", "tensors", file(`{"a":${entry("U8", "0", "0,0")},"b":${U8}}`, 2), { maxEntries: 1 }],
  ["too-many-entries", "metadata", file('{"__metadata__":{"a":"","b":""}}'), { maxEntries: 1 }],
  ["too-many-dimensions", "65", file(`{"a":${entry("U8", `${"1,".repeat(64)}1`, "0,1")}}`, 1)],
  ["too-much-data", "a limit of one's own", file(`{"a":${U8}}`, 2), { maxDataBytes: 1 }],
];

describe("parse refuses", () => {
  it.each(refused.map(([problem, what, bytes, limits]) => ({ problem, what, bytes, limits })))(
    "$problem: $what",
    ({ problem, bytes, limits }) => {
      let error: unknown;
      try {
        parse(bytes, limits);
      } catch (caught) {
        error = caught;
      }
      if (!SafetensorsError.is(error, "SAFETENSORS_PARSE")) expect.fail(`threw ${error}`);
      const { problem: got } = error.details;
      expect(got, error.message).toBe(problem);
      expect(error.message).toMatch(/^safetensors: /);
      expect(JSON.parse(JSON.stringify(error.details))).toEqual(error.details);
    },
  );

  it("every kind of problem, by a case each", () => {
    const elsewhere = ["invalid-bool", "hash-mismatch"];
    expect(new Set([...refused.map(([problem]) => problem), ...elsewhere])).toEqual(
      new Set(SAFETENSORS_PROBLEMS),
    );
  });

  it("a BOOL of 2", () => {
    const bytes = file(`{"m":${entry("BOOL", "2", "0,2")}}`, 2);
    bytes[bytes.length - 1] = 2;
    expect(() => parse(bytes)).toThrow(
      expect.objectContaining({
        code: "SAFETENSORS_PARSE",
        details: { problem: "invalid-bool", tensor: "m", index: 1 },
      }),
    );
  });

  it.each([
    [new ArrayBuffer(8), "ArrayBuffer"],
    [new Float32Array(8), "Float32Array"],
    ["{}", "String"],
    [undefined, "Undefined"],
  ])("%o, which is not bytes", (given, name) => {
    for (const read of [parse, load]) {
      expect(() => read(given as unknown as Uint8Array)).toThrow(
        expect.objectContaining({
          code: "SAFETENSORS_INVALID_ARGUMENT",
          message: `safetensors: takes the bytes of a file as Uint8Array, got ${name}`,
        }),
      );
    }
  });

  it("cuts a hostile name in its message", () => {
    const run = () => parse(file(`{"${"x".repeat(1_000_000)}":${entry("U8", "1", "0,2")}}`, 2));
    expect(run).toThrow(/^.{0,400}$/);
  });
});

describe("parse reads", () => {
  it.each([
    ["nothing", "{}", 0],
    ["padding", "{}      ", 0],
    ["white space between tokens", '{ "a" :\t{\n"dtype":"U8","shape":[ 2 ],\r"data_offsets":[0 , 2]} }', 2],
    ["fields in any order", '{"a":{"data_offsets":[0,2],"shape":[2],"dtype":"U8"}}', 2],
    ["tensors in any order", `{"b":${entry("U8", "1", "2,3")},"a":${U8}}`, 3],
    [
      "no elements, at either end",
      `{"a":${U8},"b":${entry("F32", "0", "0,0")},"c":${entry("F32", "3,0", "2,2")}}`,
      2,
    ],
    ["huge dimensions beside a 0 that comes first", `{"a":${entry("F32", "0,9007199254740991", "0,0")}}`, 0],
    ["a scalar", `{"a":${entry("U8", "", "0,1")}}`, 1],
    ["64 dimensions", `{"a":${entry("U8", `${"1,".repeat(63)}1`, "0,1")}}`, 1],
    ["an unaligned tensor", `{"a":${entry("U8", "1", "0,1")},"b":${entry("F32", "1", "1,5")}}`, 5],
    ["empty metadata", '{"__metadata__":{}}', 0],
  ])("%s", (_, header, dataBytes) => {
    const bytes = file(header, dataBytes);
    const names = Object.keys(JSON.parse(header)).filter((name) => name !== "__metadata__");
    expect([...parse(bytes).tensors.keys()]).toEqual(names);
  });

  it("escapes, astral and inherited names as ordinary keys", () => {
    const names = ["__proto__", "constructor", '\\"/\b\f\n\r\t', "\u{1f600}é\u2028", "\ufeffx", "x", ""];
    const members = names.map((name) => `${JSON.stringify(name)}:${entry("U8", "0", "0,0")}`);
    const escaped = `"\\ud83d\\ude01\\/\\u00e9\\u0000":${entry("U8", "0", "0,0")}`;
    const { tensors } = parse(file(`{${members.join(",")},${escaped}}`));
    expect([...tensors.keys()]).toEqual([...names, "\u{1f601}/é\0"]);
  });

  it("values and metadata, out of a Buffer at an odd offset, into memory of its own", () => {
    const inner = file(`{"__metadata__":{"__proto__":"p"},"w":${entry("F32", "2", "0,8")}}`, 8);
    new DataView(inner.buffer).setFloat32(inner.length - 8, 1.5, true);
    new DataView(inner.buffer).setFloat32(inner.length - 4, -0, true);
    const outer = Buffer.alloc(inner.length + 3);
    outer.set(inner, 1);
    const bytes = outer.subarray(1, 1 + inner.length);
    const { tensors, metadata } = parse(bytes);
    const view = tensors.get("w");
    if (view === undefined) return expect.fail("no tensor");
    const loaded = load(bytes).tensors["w"];
    outer.fill(0xff);
    expect(loaded && arrayOf(loaded)).toEqual(Float32Array.of(1.5, -0));
    expect(view.data[0]).toBe(0xff);
    expect([...metadata]).toEqual([["__proto__", "p"]]);
  });
});

describe("parseHeader", () => {
  it("needs the header's bytes and the file's length alone, beyond 2^32 too", () => {
    const bytes = file(`{"w":${entry("F32", "2147483648", "0,8589934592")}}`);
    const fileLength = bytes.length + 2 ** 33;
    expect(headerLength(bytes.subarray(0, 8), fileLength)).toBe(bytes.length - 8);
    const header = parseHeader(bytes, fileLength);
    expect(header.dataOffset).toBe(bytes.length);
    expect(header.tensors.get("w")).toEqual({
      dtype: "F32",
      shape: [2 ** 31],
      begin: bytes.length,
      end: fileLength,
    });
    expect(() => parseHeader(bytes, fileLength - 1)).toThrow(/it is cut short/);
  });

  it("asks for the whole header", () => {
    const bytes = file("{}      ");
    expect(() => parseHeader(bytes.subarray(0, 10), bytes.length)).toThrow(
      expect.objectContaining({ code: "SAFETENSORS_INVALID_ARGUMENT" }),
    );
  });

  it("tells where a header is wrong", () => {
    expect(() => parse(file('{"a":{"dtype":7}}'))).toThrow(/expected ", found "7", at byte 22 of the file$/);
  });
});
