import { bytesPerElement, DTYPES, type DType, type HostTensor, hostArrayOf, tensor } from "@mp/graph";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type NativeRuntime, openRuntime } from "./runtime.js";
import type { NativeTensor } from "./tensor.js";

let runtime: NativeRuntime;

beforeEach(async () => {
  runtime = await openRuntime({ threads: 2 });
});

afterEach(async () => {
  await runtime.dispose();
});

/** A tensor in which every byte differs from its neighbors, so that a shifted or short copy shows. */
function sample(dtype: DType, shape: readonly number[]): HostTensor {
  const size = shape.reduce((product, dimension) => product * dimension, 1);
  const bytes = new Uint8Array(size * bytesPerElement[dtype]).map((_, index) =>
    dtype === "bool" ? index % 2 : (index * 37 + 11) % 251,
  );
  return tensor(new hostArrayOf[dtype](bytes.buffer), shape, dtype);
}

function bits(value: HostTensor): Uint8Array {
  return new Uint8Array(value.data.buffer, value.data.byteOffset, value.data.byteLength);
}

describe("NativeTensor", () => {
  it.each(DTYPES)("keeps every bit of %s, through write and read", (dtype) => {
    for (const shape of [[], [0], [3, 0, 2], [7], [2, 3, 5]]) {
      const value = sample(dtype, shape);
      const native = runtime.upload(value);
      const back = native.read();
      expect(back.dtype).toBe(dtype);
      expect(back.shape).toEqual(shape);
      expect(bits(back)).toEqual(bits(value));
      expect(back.data.constructor).toBe(hostArrayOf[dtype]);
    }
  });

  it("writes from a view into a larger buffer", () => {
    const buffer = Float32Array.of(9, 9, 1, 2, 3, 9);
    const native = runtime.upload(tensor(buffer.subarray(2, 5)));
    expect([...native.read().data]).toEqual([1, 2, 3]);
  });

  it("hands out its own memory, aligned, outside the garbage collected heap", () => {
    const native = runtime.allocate({ dtype: "f32", shape: [5] });
    const view = native.view();
    native.write(tensor(Float32Array.of(1, 2, 3, 4, 5)));
    expect([...view]).toEqual([1, 2, 3, 4, 5]);
    view[0] = 42;
    expect(native.read().data[0]).toBe(42);
    expect(native.view()).toBe(view);
    expect(native.address % 64n).toBe(0n);
  });

  it("read is a copy that outlives the tensor", () => {
    const native = runtime.upload(tensor(Float32Array.of(1, 2)));
    const copy = native.read();
    (native.view() as Float32Array).fill(0);
    native.release();
    expect([...copy.data]).toEqual([1, 2]);
  });

  it("refuses a value of another dtype or shape and keeps its contents", () => {
    const native = runtime.upload(tensor(Float32Array.of(1, 2, 3, 4), [2, 2]));
    expect(() => native.write(tensor(Int32Array.of(1, 2, 3, 4), [2, 2]))).toThrow(
      expect.objectContaining({ code: "MP_DTYPE_MISMATCH" }),
    );
    expect(() => native.write(tensor(Float32Array.of(1, 2, 3, 4), [4]))).toThrow(
      expect.objectContaining({ code: "MP_SHAPE_MISMATCH" }),
    );
    expect([...native.read().data]).toEqual([1, 2, 3, 4]);
  });

  it("is MP_DISPOSED for every use after release, a second release included", () => {
    const native = runtime.upload(tensor(Float32Array.of(1)));
    native.release();
    const disposed = expect.objectContaining({ code: "MP_DISPOSED" });
    expect(() => native.read()).toThrow(disposed);
    expect(() => native.view()).toThrow(disposed);
    expect(() => native.write(tensor(Float32Array.of(2)))).toThrow(disposed);
    expect(() => native.handle).toThrow(disposed);
    expect(() => native.release()).toThrow(disposed);
  });

  it("says that memory ran out, with what was asked for", () => {
    const largest = { dtype: "i64", shape: [2 ** 31 - 1] } as const;
    const held: NativeTensor[] = [];
    // The memory is never touched, so address space runs out, of which a process has 2^47 bytes.
    const allocateAll = (): void => {
      while (held.length < 2 ** 14) held.push(runtime.allocate(largest));
    };
    try {
      expect(allocateAll).toThrow(
        expect.objectContaining({
          code: "MP_OUT_OF_MEMORY",
          message: expect.stringContaining("tensor i64[2147483647]"),
        }),
      );
      expect(runtime.stats().live).toBe(held.length);
    } finally {
      for (const each of held) each.release();
    }
    expect(runtime.stats()).toEqual({ live: 0, bytes: 0 });
  });

  it("counts what is alive and its bytes", () => {
    const a = runtime.allocate({ dtype: "f16", shape: [10, 10] });
    const b = runtime.allocate({ dtype: "i64", shape: [3] });
    expect(runtime.stats()).toEqual({ live: 2, bytes: 224 });
    a.release();
    expect(runtime.stats()).toEqual({ live: 1, bytes: 24 });
    b.release();
    expect(runtime.stats()).toEqual({ live: 0, bytes: 0 });
  });

  it("gives memory back to the system: a gigabyte allocated in turn never adds up", () => {
    const before = process.memoryUsage().rss;
    for (let round = 0; round < 16; round++) {
      const native = runtime.allocate({ dtype: "u8", shape: [64 * 1024 * 1024] });
      (native.view() as Uint8Array).fill(round);
      native.release();
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 * 1024);
  });
});
