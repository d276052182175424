import { expect, it } from "vitest";
import { bitsPerElement, SAFETENSORS_DTYPES } from "./dtypes.js";
import { parse } from "./parse.js";
import { serialize } from "./serialize.js";
import { arrayOf } from "./typed-arrays.js";

it.each(SAFETENSORS_DTYPES)("%s: its typed array and its bytes are written alike and read back", (dtype) => {
  const shape = [2, 4];
  const bytes = Uint8Array.from({ length: bitsPerElement[dtype] }, (_, i) =>
    dtype === "BOOL" ? i % 2 : 7 * i,
  );
  const data = arrayOf({ dtype, shape, data: bytes });
  expect(data.buffer).toBe(bytes.buffer);
  const file = serialize([["x", { dtype, shape, data }]]);
  expect(serialize([["x", { dtype, shape, data: bytes }]])).toEqual(file);
  const [[, read] = []] = parse(file).tensors;
  expect(read?.data).toEqual(bytes);
  expect(read && arrayOf(read, dtype)).toEqual(data);
});

it("a tensor that begins at an odd byte is copied", () => {
  const data = Uint8Array.of(9, 0, 0, 0xc0, 0x3f).subarray(1);
  const array = arrayOf({ dtype: "F32", shape: [1], data });
  expect(array).toEqual(Float32Array.of(1.5));
  expect(array.buffer).not.toBe(data.buffer);
});

it("another dtype than the one that was asked for is refused", () => {
  expect(() => arrayOf({ dtype: "BF16", shape: [1], data: new Uint8Array(2) }, "F16")).toThrow(
    expect.objectContaining({
      code: "SAFETENSORS_INVALID_ARGUMENT",
      message: "arrayOf: the tensor is BF16, F16 was asked for",
    }),
  );
});
