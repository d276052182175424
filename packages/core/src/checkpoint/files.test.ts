import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HostTensor, tensor, zeros } from "@mp/graph";
import { bitsPerElement, SAFETENSORS_DTYPES, SafetensorsError, serialize } from "@mp/safetensors";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkPath, loadTensors, saveTensors } from "./files.js";
import { asMpError } from "./format-error.js";
import * as noFiles from "./no-files.js";

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "mp-checkpoint-"));
  path = join(directory, "step.safetensors");
});
afterEach(() => rm(directory, { recursive: true }));

describe("checkpoint files", () => {
  it("give back every dtype, bit for bit", async () => {
    const tensors: Record<string, HostTensor> = {
      f32: tensor(Float32Array.of(1, -0, Number.NaN, 1e-45, Number.POSITIVE_INFINITY, 3), [2, 3]),
      f16: tensor(Uint16Array.of(0x3c00, 0x7e01), [2], "f16"),
      bf16: tensor(Uint16Array.of(0x3f80), [], "bf16"),
      f8e4m3: tensor(Uint8Array.of(0x7e, 0xff, 0x01), [3], "f8e4m3"),
      f8e5m2: tensor(Uint8Array.of(0x7c), [1, 1, 1], "f8e5m2"),
      i32: tensor(Int32Array.of(-(2 ** 31), 2 ** 31 - 1)),
      i64: tensor(BigInt64Array.of(-(2n ** 63n), 2n ** 53n + 1n)),
      u64: tensor(BigUint64Array.of(2n ** 64n - 1n), [1], "u64"),
      u8: tensor(Uint8Array.of(0, 255)),
      bool: tensor(Uint8Array.of(1, 0, 1), [3], "bool"),
      none: zeros([3, 0]),
      ["__proto__"]: zeros([1]),
    };
    await saveTensors(path, tensors, { step: "7", note: "é" });
    const loaded = await loadTensors(path);
    expect(new Map(Object.entries(loaded.tensors))).toEqual(new Map(Object.entries(tensors)));
    expect({ ...loaded.metadata }).toEqual({ step: "7", note: "é" });
  });

  const foreign = SAFETENSORS_DTYPES.filter((dtype) =>
    /^(F64|C64|U32|U16|I16|I8|F8_E8M0|F8_.*FNUZ|F6_.*|F4)$/.test(dtype),
  );
  it.each(foreign)("refuse %s, naming the tensor, a way out and the file", async (dtype) => {
    const data = new Uint8Array(bitsPerElement[dtype]);
    await writeFile(path, serialize([["w", { dtype, shape: [8], data }]]));
    await expect(loadTensors(path)).rejects.toMatchObject({
      code: "MP_UNSUPPORTED",
      message: expect.stringMatching(`"w" is ${dtype}.*convert it to one of F32.*, in ${path}`) as string,
      details: { problem: "unsupported-dtype", tensor: "w", dtype, path },
    });
  });

  it("fail with the codes of the SDK", async () => {
    await expect(loadTensors(path)).rejects.toMatchObject({
      name: "MpError",
      code: "MP_IO",
      message: `reading ${path} failed with ENOENT: there is no such file or directory, check the path`,
      details: { path, errno: "ENOENT" },
      cause: { code: "ENOENT" },
    });
    await writeFile(path, "once upon a time");
    await expect(loadTensors(path)).rejects.toMatchObject({
      name: "MpError",
      code: "MP_PARSE",
      message: expect.stringContaining(`, in ${path}`) as string,
      details: { problem: "header-too-large", path },
    });
    await expect(saveTensors(path, { "\ud800": zeros([1]) })).rejects.toMatchObject({
      name: "MpError",
      code: "MP_INVALID_ARGUMENT",
    });
    await expect(saveTensors(join(directory, "missing", "x"), {})).rejects.toMatchObject({
      code: "MP_IO",
      details: { errno: "ENOENT", committed: false },
    });
    const full = new SafetensorsError("SAFETENSORS_OUT_OF_MEMORY", "full", { details: { bytes: 7 } });
    expect(asMpError(full)).toMatchObject({ code: "MP_OUT_OF_MEMORY", details: { bytes: 7 }, cause: full });
    expect(asMpError("why")).toBe("why");
  });

  it.each([undefined, null, 3, "", "a\0b"])("take a path and not %j", (wrong) => {
    expect(() => checkPath("save", wrong)).toThrow(/^save: takes the path of a file, got /);
  });

  it("name what they got instead, and not all of its elements", () => {
    const got = (wrong: unknown) => () => checkPath("load", wrong);
    expect(got(new Uint8Array(1000))).toThrow(/^load: takes the path of a file, got Uint8Array$/);
    expect(got(Object.create(null))).toThrow(/^load: takes the path of a file, got an object with nothing$/);
  });
});

it("without Node a path is refused, with what to do", async () => {
  const refusal = { code: "MP_UNSUPPORTED", message: expect.stringContaining("use saveBytes()") as string };
  expect(() => noFiles.checkPath("save", path)).toThrow(expect.objectContaining(refusal));
  await expect(noFiles.saveTensors(path, {})).rejects.toMatchObject(refusal);
  await expect(noFiles.loadTensors(path)).rejects.toMatchObject(refusal);
});
