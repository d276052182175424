import { describe, expect, it } from "vitest";
import { full, ones, tensor, zeros } from "./host-tensor.js";

describe("host tensors", () => {
  it("are filled with one number, rounded once to their dtype", () => {
    expect(full([2, 2], 0.1)).toEqual(tensor(new Float32Array(4).fill(0.1), [2, 2]));
    expect(full([2], -3, "i32")).toEqual(tensor(Int32Array.of(-3, -3)));
    expect(full([], 2 ** 40, "i64").data).toEqual(BigInt64Array.of(2n ** 40n));
    expect(full([2], 0.1, "f16").data).toEqual(Uint16Array.of(0x2e66, 0x2e66));
    expect(full([1], 0.1, "bf16").data).toEqual(Uint16Array.of(0x3dcd));
    expect(full([1], Number.NEGATIVE_INFINITY).data[0]).toBe(Number.NEGATIVE_INFINITY);
    expect(ones([3])).toEqual(tensor(Float32Array.of(1, 1, 1)));
    expect(ones([1], "f16").data).toEqual(Uint16Array.of(0x3c00));
    expect(ones([2], "bool").data).toEqual(Uint8Array.of(1, 1));
    expect(ones([0]).data).toHaveLength(0);
  });

  it.each<[() => unknown, string, string]>([
    [() => full([1], 0.5, "i32"), "MP_OUT_OF_RANGE", "full: 0.5 is no value of i32"],
    [() => full([1], 1e5, "f16"), "MP_OUT_OF_RANGE", "full: 100000 is no value of f16"],
    [() => full([1], "1" as never), "MP_OUT_OF_RANGE", 'full: "1" is no value of f32'],
    [
      () => (zeros as (...sizes: unknown[]) => unknown)(2, 3),
      "MP_SHAPE_MISMATCH",
      "zeros: a shape must be an array such as [2, 3], got 2",
    ],
    [
      () => (ones as (...sizes: unknown[]) => unknown)(2, 3),
      "MP_SHAPE_MISMATCH",
      "a shape must be an array such as",
    ],
    [
      () => tensor(Float32Array.of(1), 1 as never),
      "MP_SHAPE_MISMATCH",
      "tensor: a shape must be an array such as",
    ],
    [() => zeros([-1]), "MP_SHAPE_MISMATCH", "zeros: dimensions must be integers ≥ 0"],
    [() => tensor([1, 2] as never), "MP_DTYPE_MISMATCH", "got an array; wrap it: Float32Array.from(numbers)"],
  ])("%s is refused with %s", (make, code, message) => {
    expect(make).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }));
  });
});
