import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { DTYPES, type HostArrays, type HostTensor, hostArrayOf, tensor } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { arrayClassOf } from "../../graph/src/typed-array.js";
import { loadTensors, saveTensors } from "../src/checkpoint/files.js";
import { smallRun, wave } from "./small-run.js";

/** The same in a realm of its own, whose constructors are not ours. */
const foreign = <T>(code: string): T => runInNewContext(`(${code})`) as T;

describe("arrays of another realm", () => {
  it.each(DTYPES)("are taken as %s, the same memory under this realm's class", (dtype) => {
    const { name } = hostArrayOf[dtype];
    const data = foreign<HostArrays[typeof dtype]>(`new ${name}(new ArrayBuffer(24), 8, 1)`);
    expect(data).not.toBeInstanceOf(hostArrayOf[dtype]);
    const made = tensor(data, [1], dtype) as HostTensor;
    expect(made.data).toBeInstanceOf(hostArrayOf[dtype]);
    expect(made.data.buffer).toBe(data.buffer);
    expect([made.data.byteOffset, made.data.length]).toEqual([8, 1]);
  });

  it("have the dtype of their class, also a Buffer and other subclasses", () => {
    expect(tensor(foreign<Float32Array>("Float32Array.of(1, 2)"))).toEqual(tensor(Float32Array.of(1, 2)));
    expect(tensor(foreign<Int32Array>("Int32Array.of(3)"))).toEqual(tensor(Int32Array.of(3)));
    expect(tensor(Buffer.from([4, 5]))).toEqual(tensor(Uint8Array.of(4, 5)));
    expect(Object.getPrototypeOf(tensor(Buffer.from([4])).data)).toBe(Uint8Array.prototype);
  });

  it("train and are saved, in tensors that were put together by hand too", async () => {
    const data = foreign<Float32Array>("Float32Array.from({ length: 12 }, (_, i) => Math.sin(i))");
    const x = Object.freeze({ dtype: "f32", shape: [4, 3], data }) as HostTensor<"f32">;
    const own = { ...x, data: new Float32Array(data) };
    const y = wave([4, 1], 0.3);
    const [a, b] = [await smallRun(), await smallRun()];
    expect(await a.step({ x, y })).toEqual(await b.step({ x: own, y }));
    const batch = foreign<(parts: object) => { x: typeof x; y: typeof y }>("(parts) => ({ ...parts })")({
      x,
      y,
    });
    expect(await a.step(batch)).toEqual(await b.step({ x: own, y }));
    const folder = await mkdtemp(join(tmpdir(), "mp-realm-"));
    await saveTensors(join(folder, "x"), { x });
    expect({ ...(await loadTensors(join(folder, "x"))).tensors }).toEqual({ x: own });
    await rm(folder, { recursive: true });
  });

  it("are still refused where they store another dtype, by the class that they are", () => {
    const doubles = foreign<Float32Array>("new Float64Array(2)");
    expect(() => tensor(doubles)).toThrow("tensor: Float64Array has no dtype of its own");
    expect(() => tensor(doubles, [2], "f32")).toThrow(
      "tensor: f32 must be stored in Float32Array, got Float64Array",
    );
  });
});

it("what only claims to be an array is none", () => {
  for (const claim of [
    { constructor: Float32Array, length: 1, 0: 1 },
    { [Symbol.toStringTag]: "Float32Array" },
    Object.create(Float32Array.prototype),
    new DataView(new ArrayBuffer(4)),
    "Float32Array",
    undefined,
  ]) {
    expect(arrayClassOf(claim)).toBeUndefined();
    expect(() => tensor(claim as Float32Array, [1], "f32")).toThrow(
      expect.objectContaining({ code: "MP_DTYPE_MISMATCH" }),
    );
  }
});
