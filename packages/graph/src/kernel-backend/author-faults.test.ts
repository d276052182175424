/** Tests mistakes in an author's kernels: they give an error with the kernel's name at once, and nothing leaks. */
import { describe, expect, it } from "vitest";
import { arrayBackend } from "../../test/array-backend.js";
import { type Storage, tinyBackend } from "../../test/tiny-backend.js";
import type { ErrorCode } from "../errors.js";
import { GraphBuilder } from "../graph/build/builder.js";
import type { Graph } from "../graph/graph.js";
import { type HostTensor, tensor } from "../host/host-tensor.js";
import type { Kernel } from "./kernel.js";

const x = tensor(Float32Array.of(1, 2, 3, 4));
const refusal = (code: ErrorCode, message: RegExp) =>
  expect.objectContaining({ name: "MpError", code, message: expect.stringMatching(message) });

/** Splits x into halves and doubles each. */
function graph(): Graph {
  const builder = new GraphBuilder();
  const value = builder.input("x", x, "batch");
  const [a, b] = builder.emit("Split", [value], { axis: 0, split: [2, 2] });
  if (a === undefined || b === undefined) throw new Error("internal: two halves");
  return builder.finish({ a: builder.emitOne("Add", [a, a], {}), b: builder.emitOne("Add", [b, b], {}) });
}

describe("a kernel that gives something else than its results", () => {
  type Make = (numbers: readonly number[]) => Storage;
  it.each<[string, (make: Make) => unknown, RegExp]>([
    [
      "nothing",
      () => undefined,
      /kernel of Split failed: it gave undefined in place of a list of results, here of 2/,
    ],
    ["a promise of nothing", async () => undefined, /Split failed: it gave undefined in place of a list/],
    ["a storage", (make) => make([1]), /Split failed: it gave Storage in place of a list/],
    ["too few", (make) => [make([1, 2])], /Split failed: it gave 1 of 2 results/],
    ["a hole", (make) => [make([1, 2]), undefined], /Split failed: it gave 1 of 2 results, in node Split/],
    ["null", (make) => [null, make([1, 2])], /Split failed: it gave 1 of 2 results/],
  ])("%s", async (_, give, message) => {
    const { backend } = tinyBackend({
      kernels: (make) => ({ Split: (() => give(make)) as Kernel<unknown, Storage> }),
    });
    const executable = await backend.compile(graph());
    await expect(executable.run({ x })).rejects.toEqual(refusal("MP_BACKEND_FAILED", message));
    expect(backend.stats().bytes).toBe(0);
  });

  it("that has no memory left says so", async () => {
    const allocate: Kernel<unknown, Storage> = () => [new Float64Array(-1) as unknown as Storage];
    const { backend } = tinyBackend({ kernels: () => ({ Split: allocate }) });
    const executable = await backend.compile(graph());
    await expect(executable.run({ x })).rejects.toEqual(
      refusal("MP_OUT_OF_MEMORY", /the kernel of Split failed/),
    );
  });
});

describe("an upload or download that gives something else", () => {
  it.each<[string, unknown, RegExp]>([
    ["nothing", undefined, /download failed: what it gave is no tensor/],
    ["another shape", tensor(Float32Array.of(1, 2)), /what it gave is f32\[2\], needs f32\[4\]/],
    ["another dtype", tensor(Int32Array.of(1, 2, 3, 4)), /what it gave is i32\[4\], needs f32\[4\]/],
    ["another array", { dtype: "f32", shape: [4], data: new Int32Array(4) }, /is stored in Float32Array/],
    ["too little", { dtype: "f32", shape: [4], data: new Float32Array(3) }, /holds 3 elements/],
  ])("%s", async (_, given, message) => {
    const backend = arrayBackend({ download: () => given as HostTensor });
    const handle = await backend.upload(x);
    await expect(backend.download(handle)).rejects.toEqual(refusal("MP_BACKEND_FAILED", message));
  });

  it("no storage", async () => {
    const backend = arrayBackend({ upload: () => undefined as unknown as Float32Array });
    await expect(backend.upload(x)).rejects.toEqual(
      refusal("MP_BACKEND_FAILED", /upload failed: it gave undefined in place of a storage/),
    );
  });
});

describe("a row that nothing would read", () => {
  const { manifest } = arrayBackend({});
  it.each<[string, object, RegExp]>([
    [
      "of kernels",
      { kernels: { Reluu: () => [] } },
      /kernels has a row for "Reluu", which is no operator; did you mean Relu/,
    ],
    ["of another operator", { kernels: { relu: () => [] } }, /which is no operator; did you mean Relu\?/],
    ["no function", { kernels: { Relu: 3 } }, /the kernel of Relu must be a function, got 3/],
    ["no table", { kernels: null }, /kernels must be a table by name, got null/],
    [
      "of opDTypes",
      { manifest: { ...manifest, opDTypes: { Mull: ["f32"] } } },
      /opDTypes has a row for "Mull".*did you mean Mul\?/,
    ],
    [
      "a dtype",
      { manifest: { ...manifest, opDTypes: { Mul: ["float32"] } } },
      /opDTypes of Mul must be some of f32, .*got \["float32"\]/,
    ],
    [
      "of dtypes",
      { manifest: { ...manifest, dtypes: { float32: true } } },
      /dtypes has a row for "float32", which is no dtype/,
    ],
  ])("%s", (_, options, message) => {
    expect(() => arrayBackend(options as never)).toThrow(refusal("MP_INVALID_ARGUMENT", message));
  });
});
